import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';
import type { Lane } from './rows.ts';

/** The progress of reading the history of a lane's nonce account, from the newest transaction back to the slot `floor`. */
export interface LaneScan {
  /** Transactions up to this slot need not be read. */
  readonly floor: number;
  /** Slot of the newest transaction that was read; null at the beginning. */
  readonly topSlot: number | null;
  /** Signature of the oldest transaction that was read; null at the beginning. */
  readonly before: string | null;
  /** Slot of the transaction that opened the account; null when it was not read. */
  readonly openedSlot: number | null;
  /** Number of transactions that the RPC node listed, and number of these that were read. */
  readonly listed: number;
  readonly read: number;
  /** Whether every transaction between `floor` and `topSlot` was read. */
  readonly complete: boolean;
}

/** The scan of a lane that has not begun. */
export const newScan = (floor: number): LaneScan => ({
  ...{ floor, topSlot: null, before: null, openedSlot: null, listed: 0, read: 0, complete: false },
});

const selectScan = statement<LaneScan>(
  'select_payout_lane_scan',
  `select floor::float8 as floor, top_slot::float8 as "topSlot", before, opened_slot::float8 as "openedSlot", listed, read, complete
   from payout_lane_scans where lane = $1 and address = $2`,
);
// The condition on `before` compares with the progress that the caller read, so that two processes do not overwrite the progress of each other.
const upsertScan = statement<{ lane: number }>(
  'upsert_payout_lane_scan',
  `insert into payout_lane_scans as s (lane, address, floor, top_slot, before, opened_slot, listed, read, complete)
   values ($1, $2, $3::int8, $4::int8, $5, $6::int8, $7, $8, $9)
   on conflict (lane) do update set address = excluded.address, floor = excluded.floor, top_slot = excluded.top_slot, before = excluded.before,
     opened_slot = excluded.opened_slot, listed = excluded.listed, read = excluded.read, complete = excluded.complete, changed_at = app_now()
   where s.address <> excluded.address or s.before is not distinct from $10 returning lane::int`,
);

/** Reads the progress of a lane's scan; undefined when there is none. */
export const readScan = async (db: Queryable, { lane, address }: Pick<Lane, 'lane' | 'address'>): Promise<LaneScan | undefined> =>
  (await db.query(selectScan, [lane, address]))[0];

/** Stores the progress of a lane's scan. Does nothing when another process has continued the scan since the caller read it. */
export async function saveScan(tx: Tx, { lane, address }: Pick<Lane, 'lane' | 'address'>, from: LaneScan, to: LaneScan): Promise<void> {
  const { floor, topSlot, before, openedSlot, listed, read, complete } = to;
  await tx.query(upsertScan, [lane, address, floor, topSlot, before, openedSlot, listed, read, complete, from.before]);
}

/** Deletes the scan of a lane. */
export const deleteScan = (tx: Tx, lane: number) => run(tx, build.deleteFrom('payout_lane_scans').where('lane', '=', lane));

/** Selects the unknown transactions that used a nonce of an account in a slot after `floor`. */
export const selectUsesAfter = (address: string, floor: number) =>
  build
    .selectFrom('payout_findings')
    .select(({ cast }) => ['signature', 'nonce', 'verdict', cast<number>('slot', 'float8').as('slot')])
    .where('address', '=', address)
    .where('nonce', 'is not', null)
    .where('slot', '>', String(floor));

/** Selects those of the given signatures that belong to stored unknown transactions. */
export const selectStored = (signatures: readonly string[]) =>
  build
    .selectFrom('payout_findings')
    .select('signature')
    .where('signature', 'in', [...signatures]);
