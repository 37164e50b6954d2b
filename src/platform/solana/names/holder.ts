import { type AccountInfo, PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '../solana.ts';
import { decodeMint, decodeTokenAccount, MINT_BYTES, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM } from '../tokens.ts';
import { ownedBy, type Verdict } from './verdict.ts';

export const TOKEN_2022_PROGRAM = new PublicKey('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');

/** Where an account with extensions says what it is, and what it says. */
const KIND_AT = TOKEN_ACCOUNT_BYTES;
const KINDS = { mint: 1, account: 2 } as const;

/** JSON-RPC's word for a mint that is none. */
const INVALID_PARAMS = -32602;

const NOBODY: Verdict = { refused: 'the name is wrapped in a token that nobody is known to hold' };

/**
 * Who holds the one token that a name is wrapped in. The node only says where to look: mint and account are read, and checked, here.
 * @param program the token program that the registry's tokens belong to
 */
export async function holderOf(app: App, mint: PublicKey, program: PublicKey): Promise<Verdict> {
  const { connection } = app.chain;
  const address = await rpc(() => largestAccount(app, mint));
  if (address === null) return NOBODY;
  const [mintAccount, account] = await rpc(() => connection.getMultipleAccountsInfo([mint, address], 'finalized'));
  const minted = decodeMint(plain(mintAccount, program, 'mint'));
  const held = decodeTokenAccount(plain(account, program, 'account'));
  if (minted?.supply !== 1n || minted.decimals !== 0 || held?.amount !== 1n || !held.mint.equals(mint)) return NOBODY;
  return ownedBy(held.owner);
}

/** The only account that holds one unit; null where there is none, or no such mint. */
async function largestAccount(app: App, mint: PublicKey): Promise<PublicKey | null> {
  try {
    const { value } = await app.chain.connection.getTokenLargestAccounts(mint, 'finalized');
    const [holder, ...others] = value.filter(({ amount }) => amount === '1');
    return holder && others.length === 0 ? holder.address : null;
  } catch (error) {
    if (Error.isError(error) && 'code' in error && error.code === INVALID_PARAMS) return null;
    throw error;
  }
}

/** An account of either token program as one without extensions: those come behind what both programs lay out alike. */
function plain(account: AccountInfo<Buffer> | null | undefined, program: PublicKey, kind: 'mint' | 'account'): AccountInfo<Buffer> | null {
  if (!account?.owner.equals(program)) return null;
  const bytes = kind === 'mint' ? MINT_BYTES : TOKEN_ACCOUNT_BYTES;
  const isExtended = program.equals(TOKEN_2022_PROGRAM) && account.data.length > KIND_AT && account.data[KIND_AT] === KINDS[kind];
  if (account.data.length !== bytes && !isExtended) return null;
  return { ...account, owner: TOKEN_PROGRAM, data: account.data.subarray(0, bytes) };
}
