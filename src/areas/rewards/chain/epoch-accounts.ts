import { PublicKey } from '@solana/web3.js';
import { statement } from '#platform/db/sql.ts';

/** The addresses of an epoch on the chain, decoded. */
export interface EpochAddresses {
  readonly epoch: number;
  readonly program: PublicKey;
  readonly authority: PublicKey;
  readonly mint: PublicKey;
  readonly account: PublicKey;
  readonly vault: PublicKey;
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
  gaps: number;
  /** Number of claims that were stored since the history cursor last moved. */
  unread: number;
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
    program: new PublicKey(row.program),
    authority: new PublicKey(row.authority),
    mint: new PublicKey(row.mint),
    account: new PublicKey(row.address),
    vault: new PublicKey(row.vault),
  };
  if (decoded.size >= MAX_CACHED) decoded.clear();
  decoded.set(key, addresses);
  return addresses;
}

/** SQL expression: the JSON of an epoch's addresses and of the sum and number of its finalized claims, as the API returns it. */
export const ON_CHAIN = `(select jsonb_build_object('program', a.program, 'authority', a.authority, 'mint', a.mint, 'account', a.address, 'vault', a.vault,
  'claimed', a.claimed::text, 'claims', a.claims) from epoch_accounts a where a.epoch = e.epoch and a.opened_at is not null)`;

/** Selects the addresses of an epoch, its state, and whether its account was opened on the chain. */
export const selectEpochAddresses = statement<EpochAddressesRow & { state: string; opened: boolean }>(
  'select_epoch_addresses',
  `select a.epoch, a.program, a.authority, a.mint, a.vault, a.address, e.state, a.opened_at is not null as opened
   from epoch_accounts a join epochs e on e.epoch = a.epoch where a.epoch = $1`,
);
