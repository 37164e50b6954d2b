import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { build } from '../query-builder.ts';

/** The addresses of an epoch on the chain, decoded. */
export interface EpochAddresses {
  readonly epoch: number;
  readonly program: Address;
  readonly authority: Address;
  readonly mint: Address;
  readonly account: Address;
  readonly vault: Address;
}

/** The addresses of an epoch, as the database stores them. The stored addresses stay the same when the keys in the configuration change. */
export interface EpochAddressesRow {
  epoch: number;
  program: string;
  authority: string;
  mint: string;
  vault: string;
  address: string;
}

/** An epoch whose account on the chain can still change, with the cursor up to which its history was read. */
export interface FollowedEpoch extends EpochAddressesRow {
  root: Buffer;
  total: string;
  leaves: number;
  /** Sum of the finalized claims in the database, base units. */
  claimed: string;
  /** Signature up to which the transaction history of the epoch account was read; null before the first read. */
  cursor: string | null;
  cursor_slot: number;
  /** Number of claims that were stored since the history cursor last moved. */
  unread: number;
  /** Whether the account has another root than the epoch. `root`, `total` and `leaves` are then those of the account. */
  isOther: boolean;
  /** Whether the epoch account is settled or closed and the database has all its claims. */
  ended: boolean;
}

/** Cache of decoded addresses, keyed by epoch and account address. Decoding the base58 addresses of all epochs at each poll would cost CPU time. */
const decoded = new Map<string, EpochAddresses>();
const MAX_CACHED = 2_000;

/** Returns the decoded addresses of a row. */
export function addressesOf(row: EpochAddressesRow): EpochAddresses {
  const key = `${row.epoch} ${row.address}`;
  const cached = decoded.get(key);
  if (cached) return cached;
  const addresses: EpochAddresses = {
    epoch: row.epoch,
    program: parseAddress(row.program),
    authority: parseAddress(row.authority),
    mint: parseAddress(row.mint),
    account: parseAddress(row.address),
    vault: parseAddress(row.vault),
  };
  if (decoded.size >= MAX_CACHED) decoded.clear();
  decoded.set(key, addresses);
  return addresses;
}

/** SQL expression: the JSON of an epoch's addresses and of the sum and number of its finalized claims, as the API returns it. */
export const ON_CHAIN = `(select jsonb_build_object('program', a.program, 'authority', a.authority, 'mint', a.mint, 'account', a.address, 'vault', a.vault,
  'claimed', a.claimed::text, 'claims', a.claims) from epoch_accounts a where a.epoch = e.epoch and a.opened_at is not null)`;

/** Builds the query for the stored addresses of an epoch. */
export const selectEpochAddresses = (epoch: number) =>
  build.selectFrom('epoch_accounts').select(['epoch', 'program', 'authority', 'mint', 'vault', 'address']).where('epoch', '=', epoch);
