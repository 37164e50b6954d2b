import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
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

const lockAddresses = statement('lock_addresses_of_epoch', 'select 1 from epoch_accounts where epoch = $1 for update');
const selectSigned = statement<EpochAddressesRow & { expiry: number }>(
  'select_addresses_of_signed_root',
  `select a.epoch, a.program, a.authority, a.mint, a.vault, a.address, extract(epoch from a.expires_at)::float8 as expiry
   from epoch_accounts a where a.epoch = $1 and a.opened_at is null and exists (
     select from chain_transactions t join chain_attempts s on s.transaction_id = t.id
     where t.kind = 'epoch-root' and t.subject = a.epoch::text and s.state in ('signed', 'sent', 'confirmed'))`,
);

/**
 * Locks and returns the addresses of an epoch whose signed root may still land; undefined when there is none. They must not follow a change of the
 * configuration, because the epoch could then be opened a second time, at another address.
 */
export async function lockSignedAddresses(tx: Tx, epoch: number): Promise<(EpochAddressesRow & { expiry: number }) | undefined> {
  // A statement of its own, so that the next one sees a root that another process signed while this one waited.
  await tx.query(lockAddresses, [epoch]);
  return (await tx.query(selectSigned, [epoch]))[0];
}

const holdAddressOf = statement<{ epoch: number }>(
  'hold_address_of_epoch',
  'select epoch from epoch_accounts where epoch = $1 and address = $2 for share',
);

/** Keeps the address of an epoch until the transaction that signs its root ends. @throws 409 when another process has changed the address */
export async function holdAddress(tx: Tx, epoch: number, address: string): Promise<void> {
  if ((await tx.query(holdAddressOf, [epoch, address])).length === 0)
    throw fail(409, `the address of epoch ${epoch} changed after the transaction was composed`);
}
