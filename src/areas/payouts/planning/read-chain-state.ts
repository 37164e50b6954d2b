import { PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '#platform/solana/solana.ts';
import { associatedTokenAddress, decodeMint, decodeTokenAccount, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { type Account, decodeNonce } from '../lanes/account.ts';
import type { Lane } from '../lanes/rows.ts';

/** How a wallet's token account stands: it can take tokens, it is not there, or why it cannot. */
export type Destination = 'ready' | 'missing' | { readonly unfit: string };

/** What the chain says before a batch is made, at confirmed. */
export interface Survey {
  /** The lane's nonce, or null where its account is none. */
  readonly nonce: string | null;
  readonly decimals: number;
  /** What the treasury holds, base units. */
  readonly funds: bigint;
  readonly destinations: ReadonlyMap<string, Destination>;
  /** What opening a token account costs, lamports. */
  readonly rent: bigint;
}

/** Nothing can be paid in this mint, whoever it is owed to. */
export interface Standstill {
  readonly standstill: string;
}

function destination(wallet: PublicKey, mint: PublicKey, account: Account): Destination {
  // Lamports that somebody sent there do not make it an account of tokens, and do not keep it from becoming one.
  if (account === null || (account.data.length === 0 && !account.owner.equals(TOKEN_PROGRAM))) return 'missing';
  const tokens = decodeTokenAccount(account);
  if (!tokens?.mint.equals(mint)) return { unfit: 'the token account of the wallet is none' };
  if (!tokens.owner.equals(wallet)) return { unfit: 'the token account of the wallet belongs to somebody else' };
  return tokens.frozen ? { unfit: 'the token account of the wallet is frozen' } : 'ready';
}

/** Reads all that decides whether and how wallets can be paid, in one question. At most 90 wallets. */
export async function survey(
  app: App,
  lane: Pick<Lane, 'address' | 'nonceSlot'>,
  mint: PublicKey,
  treasury: PublicKey,
  wallets: readonly string[],
): Promise<Survey | Standstill> {
  const { connection } = app.chain;
  const owners = [...new Set(wallets)].map((wallet) => new PublicKey(wallet));
  const addresses = [new PublicKey(lane.address), mint, ...[treasury, ...owners].map((owner) => associatedTokenAddress(owner, mint))];
  const config = { commitment: 'confirmed' as const, minContextSlot: lane.nonceSlot };
  const { value } = await rpc(() => connection.getMultipleAccountsInfoAndContext(addresses, config));
  const [nonce = null, mintAccount = null, source = null, ...accounts] = value;
  const decoded = decodeMint(mintAccount);
  if (!decoded) return { standstill: `${mint.toBase58()} is not a mint of the token program` };
  const tokens = decodeTokenAccount(source);
  if (!tokens?.owner.equals(treasury)) return { standstill: `the treasury has no token account of ${mint.toBase58()}` };
  if (tokens.frozen) return { standstill: `the treasury’s token account of ${mint.toBase58()} is frozen` };
  const destinations = new Map(owners.map((owner, i) => [owner.toBase58(), destination(owner, mint, accounts[i] ?? null)]));
  const opens = [...destinations.values()].includes('missing');
  const rent = opens ? await rpc(() => connection.getMinimumBalanceForRentExemption(TOKEN_ACCOUNT_BYTES)) : 0;
  return { nonce: decodeNonce(nonce)?.value ?? null, decimals: decoded.decimals, funds: tokens.amount, destinations, rent: BigInt(rent) };
}
