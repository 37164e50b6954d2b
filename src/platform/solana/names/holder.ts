import type { App } from '#platform/app.ts';
import { type Address, type FetchedAccount, parseAddress } from '../primitives.ts';
import { decodeMint, decodeTokenAccount, MINT_BYTES, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM } from '../tokens.ts';
import { type NameResolution, resolvesToOwner } from './resolution.ts';

export const TOKEN_2022_PROGRAM = parseAddress('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');

/** Offset of the byte that holds the account type, and the values of this byte. Only token accounts and mints with extensions have this byte. */
const ACCOUNT_TYPE_AT = TOKEN_ACCOUNT_BYTES;
const ACCOUNT_TYPES = { mint: 1, account: 2 } as const;

/** JSON-RPC error code that the RPC node returns when the given address is not a mint. */
const INVALID_PARAMS = -32602;

const NO_HOLDER: NameResolution = { refused: 'the name is wrapped in a token that has no known holder' };

/**
 * Resolves a wrapped name (a name that a token represents) to the wallet that holds the token. The RPC node only supplies the address of the token
 * account; this function reads and verifies the mint and the token account.
 * @param program the token program that owns the mint account
 */
export async function resolveByToken(app: App, mint: Address, program: Address): Promise<NameResolution> {
  const address = await largestAccount(app, mint);
  if (address === null) return NO_HOLDER;
  const [mintAccount, account] = (await app.chain.node.accounts([mint, address], 'finalized')).accounts;
  const minted = decodeMint(withoutExtensions(mintAccount, program, 'mint'));
  const held = decodeTokenAccount(withoutExtensions(account, program, 'account'));
  if (minted?.supply !== 1n || minted.decimals !== 0 || held?.amount !== 1n || !held.mint.equals(mint)) return NO_HOLDER;
  return resolvesToOwner(held.owner);
}

/**
 * Returns the only token account that holds one token of the mint. Returns null when no account or several accounts hold one token, or when the mint
 * does not exist.
 */
async function largestAccount(app: App, mint: Address): Promise<Address | null> {
  try {
    const largest = await app.chain.node.largestTokenAccounts(mint);
    const [holder, ...others] = largest.filter(({ amount }) => amount === '1');
    return holder && others.length === 0 ? holder.address : null;
  } catch (error) {
    if (Error.isError(error) && 'code' in error && error.code === INVALID_PARAMS) return null;
    throw error;
  }
}

/**
 * Cuts the extensions off a token account or mint. The bytes before the extensions have the same layout in both token programs. Returns null for any
 * other account.
 */
function withoutExtensions(account: FetchedAccount | undefined, program: Address, type: 'mint' | 'account'): FetchedAccount {
  if (!account?.owner.equals(program)) return null;
  const bytes = type === 'mint' ? MINT_BYTES : TOKEN_ACCOUNT_BYTES;
  const isExtended =
    program.equals(TOKEN_2022_PROGRAM) && account.data.length > ACCOUNT_TYPE_AT && account.data[ACCOUNT_TYPE_AT] === ACCOUNT_TYPES[type];
  if (account.data.length !== bytes && !isExtended) return null;
  return { ...account, owner: TOKEN_PROGRAM, data: account.data.subarray(0, bytes) };
}
