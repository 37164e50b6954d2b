import bs58 from 'bs58';
import type { z } from 'zod';
import { type Accounts, mintOf, tokenAccountOf } from '../cluster/accounts.ts';
import { tokenAmount } from '../cluster/meta.ts';
import { nonceOf } from '../cluster/nonces.ts';
import type { SvmAccount } from '../cluster/svm.ts';
import { base58Of, TOKEN_2022_PROGRAM } from '../keys.ts';
import { RpcError } from './errors.ts';
import type { AccountOptions } from './params.ts';

type Options = z.output<typeof AccountOptions> | null | undefined;

/** `rentEpoch` of a rent-exempt account: u64::MAX, rounded to a JSON number. */
const RENT_EXEMPT = 2 ** 64;
const MAX_BASE58_BYTES = 128;

/** Encodes an account as RPC nodes do. With `jsonParsed`, data that cannot be parsed is encoded as base64. */
export function encodeAccount(account: SvmAccount, options: Options, accounts: Accounts, slot: number) {
  const common = {
    lamports: Number(account.lamports),
    owner: base58Of(account.owner),
    executable: account.executable,
    rentEpoch: RENT_EXEMPT,
    space: account.data.length,
  };
  const parsed = options?.encoding === 'jsonParsed' ? parseAccount(account, accounts, slot) : null;
  return { data: parsed ? { ...parsed, space: account.data.length } : encodeData(account.data, options), ...common };
}

function encodeData(data: Uint8Array, options: Options): string | [string, string] {
  const slice = options?.dataSlice;
  const bytes = slice ? data.subarray(slice.offset, slice.offset + slice.length) : data;
  const encoding = options?.encoding;
  if (encoding === 'base64' || encoding === 'jsonParsed') return [Buffer.from(bytes).toString('base64'), 'base64'];
  if (encoding === 'base64+zstd') throw new RpcError(-32602, 'base64+zstd is not supported');
  if (bytes.length > MAX_BASE58_BYTES) {
    throw new RpcError(-32600, 'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.');
  }
  const text = bs58.encode(bytes);
  return encoding === 'base58' ? [text, 'base58'] : text;
}

/** Parses token accounts, mints and nonce accounts for `jsonParsed`. Returns null for other accounts. */
function parseAccount(account: SvmAccount, accounts: Accounts, slot: number) {
  return parseTokenAccount(account, accounts, slot) ?? parseMint(account) ?? parseNonce(account);
}

const programOf = (account: SvmAccount) => (account.owner === TOKEN_2022_PROGRAM ? 'spl-token-2022' : 'spl-token');

function parseTokenAccount(account: SvmAccount, accounts: Accounts, slot: number) {
  const token = tokenAccountOf(account);
  const mint = token && mintOf(accounts.at(token.mint, slot));
  if (!token || !mint) return null;
  const data = Buffer.from(account.data);
  const key = (at: number) => bs58.encode(data.subarray(at, at + 32));
  const option = (at: number) => data.readUInt32LE(at) === 1;
  const delegated = option(72) ? { delegate: key(76), delegatedAmount: tokenAmount(data.readBigUInt64LE(121), mint.decimals) } : {};
  const native = option(109) ? { rentExemptReserve: tokenAmount(data.readBigUInt64LE(113), mint.decimals) } : {};
  const closing = option(129) ? { closeAuthority: key(133) } : {};
  return {
    program: programOf(account),
    parsed: {
      info: {
        mint: base58Of(token.mint),
        owner: base58Of(token.owner),
        tokenAmount: tokenAmount(token.amount, mint.decimals),
        ...delegated,
        state: token.frozen ? 'frozen' : 'initialized',
        isNative: option(109),
        ...native,
        ...closing,
      },
      type: 'account',
    },
  };
}

function parseMint(account: SvmAccount) {
  const mint = mintOf(account);
  if (!mint) return null;
  const text = (key: string | null) => (key === null ? null : base58Of(key));
  const info = {
    mintAuthority: text(mint.mintAuthority),
    supply: mint.supply.toString(),
    decimals: mint.decimals,
    isInitialized: true,
    freezeAuthority: text(mint.freezeAuthority),
  };
  return { program: programOf(account), parsed: { info, type: 'mint' } };
}

function parseNonce(account: SvmAccount) {
  const nonce = nonceOf(account);
  if (!nonce) return null;
  const lamportsPerSignature = Buffer.from(account.data).readBigUInt64LE(72).toString();
  const info = { authority: base58Of(nonce.authority), blockhash: base58Of(nonce.value), feeCalculator: { lamportsPerSignature } };
  return { program: 'nonce', parsed: { info, type: 'initialized' } };
}
