import type { App } from '#platform/app.ts';
import { type Address, type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, decodeMint, decodeTokenAccount, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import type { Lane } from '../lanes/rows.ts';

/** State of a wallet's token account: `ready` to receive tokens, `missing` on the chain, or the reason why it cannot receive tokens. */
export type Destination = 'ready' | 'missing' | { readonly unpayable: string };

/** The confirmed chain state from which a batch is planned. */
export interface ChainState {
  /** Nonce of the lane; null when the nonce account of the lane does not exist. */
  readonly nonce: string | null;
  readonly decimals: number;
  /** Balance of the treasury, base units. */
  readonly funds: bigint;
  readonly destinations: ReadonlyMap<string, Destination>;
  /** Rent of one token account, lamports; 0 when no token account must be opened. */
  readonly rent: bigint;
}

/** The reason why the treasury cannot pay any payment in this mint. */
interface MintUnavailable {
  readonly unavailable: string;
}

function destination(wallet: Address, mint: Address, account: FetchedAccount): Destination {
  // An account that only holds lamports counts as missing, because it can still be opened as a token account.
  if (account === null || (account.data.length === 0 && !account.owner.equals(TOKEN_PROGRAM))) return 'missing';
  const tokens = decodeTokenAccount(account);
  if (!tokens?.mint.equals(mint)) return { unpayable: 'the associated account of the wallet is not a token account of this mint' };
  if (!tokens.owner.equals(wallet)) return { unpayable: 'the token account of the wallet has another owner' };
  return tokens.frozen ? { unpayable: 'the token account of the wallet is frozen' } : 'ready';
}

/** Reads the nonce of a lane, the mint, the balance of the treasury and the token accounts of at most 90 wallets, in one RPC request for accounts. */
export async function readChainState(
  app: App,
  lane: Pick<Lane, 'address' | 'nonceSlot'>,
  mint: Address,
  treasury: Address,
  wallets: readonly string[],
): Promise<ChainState | MintUnavailable> {
  const { node } = app.chain;
  const owners = [...new Set(wallets)].map((wallet) => parseAddress(wallet));
  const addresses = [parseAddress(lane.address), mint, ...[treasury, ...owners].map((owner) => associatedTokenAddress(owner, mint))];
  const read = await node.accounts(addresses, 'confirmed', lane.nonceSlot);
  const [nonce = null, mintAccount = null, source = null, ...accounts] = read.accounts;
  const decoded = decodeMint(mintAccount);
  if (!decoded) return { unavailable: `${mint.toBase58()} is not a mint of the token program` };
  const tokens = decodeTokenAccount(source);
  if (!tokens?.owner.equals(treasury)) return { unavailable: `the treasury has no token account of ${mint.toBase58()}` };
  if (tokens.frozen) return { unavailable: `the treasury’s token account of ${mint.toBase58()} is frozen` };
  const destinations = new Map(owners.map((owner, i) => [owner.toBase58(), destination(owner, mint, accounts[i] ?? null)]));
  const opens = [...destinations.values()].includes('missing');
  const rent = opens ? await node.rentOf(TOKEN_ACCOUNT_BYTES) : 0;
  return { nonce: decodeNonce(nonce)?.value ?? null, decimals: decoded.decimals, funds: tokens.amount, destinations, rent: BigInt(rent) };
}
