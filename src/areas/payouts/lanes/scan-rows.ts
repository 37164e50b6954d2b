import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
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

/** Time after which another run may continue a scan, because the process that reads the part was probably killed. */
const READING_MAX_SEC = 30;

const deleteOtherScan = statement('delete_scan_of_earlier_lane_account', 'delete from payout_lane_scans where lane = $1 and address <> $2');
const claimScanRow = statement<LaneScan>(
  'claim_payout_lane_scan',
  `insert into payout_lane_scans as s (lane, address, floor, reading_until) values ($1, $2, $3::int8, app_now() + $4::float8 * interval '1 second')
   on conflict (lane) do update set reading_until = excluded.reading_until where s.reading_until is null or s.reading_until <= (select app_now())
   returning floor::float8 as floor, top_slot::float8 as "topSlot", before, opened_slot::float8 as "openedSlot", listed, read, complete`,
);
// The condition on `before` compares with the progress that the caller read, so that two processes do not overwrite the progress of each other.
const updateScan = statement(
  'update_payout_lane_scan',
  `update payout_lane_scans set floor = $3::int8, top_slot = $4::int8, before = $5, opened_slot = $6::int8, listed = $7, read = $8, complete = $9,
     changed_at = app_now()
   where lane = $1 and address = $2 and before is not distinct from $10`,
);

/**
 * Claims the scan of a lane, so that no other run reads the same transactions at the same time. Begins the scan at the slot `floor` if there is none.
 * @returns the progress; undefined while another run reads a part
 */
export async function claimScan(app: App, { lane, address }: Pick<Lane, 'lane' | 'address'>, floor: number): Promise<LaneScan | undefined> {
  return await app.tx(async (tx) => {
    await tx.query(deleteOtherScan, [lane, address]);
    return (await tx.query(claimScanRow, [lane, address, floor, READING_MAX_SEC]))[0];
  });
}

/** Ends the claim of a scan. */
export const releaseScan = (app: App, { lane, address }: Pick<Lane, 'lane' | 'address'>) =>
  app.tx((tx) =>
    run(tx, build.updateTable('payout_lane_scans').set({ reading_until: null }).where('lane', '=', lane).where('address', '=', address)),
  );

/** Stores the progress of a lane's scan. Does nothing when another process has continued the scan since the caller read it. */
export async function saveScan(tx: Tx, { lane, address }: Pick<Lane, 'lane' | 'address'>, from: LaneScan, to: LaneScan): Promise<void> {
  const { floor, topSlot, before, openedSlot, listed, read, complete } = to;
  await tx.query(updateScan, [lane, address, floor, topSlot, before, openedSlot, listed, read, complete, from.before]);
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
