import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { distributorProblem } from '#platform/solana/distributor/index.ts';
import { selectPause } from '#platform/solana/submission/index.ts';
import { PAYOUTS_SCOPE } from '../batches/transaction-type.ts';
import { build } from '../build.ts';
import { selectReconciliation } from './rows.ts';

/** Selects the transactions on lanes that were found on the chain but not among the attempts in the database, as the API returns them. */
const selectUnknownTransactions = build
  .selectFrom('payout_findings')
  .select(({ cast }) => ['signature', 'lane', 'verdict', 'reason', 'transfers', 'payments', cast<number>('slot', 'float8').as('slot')])
  .select(isoInstant('found_at').as('at'))
  .orderBy(sql`verdict = 'unmatched'`, 'desc')
  .orderBy('found_at', 'desc')
  .orderBy('signature')
  .limit(100);
/** Selects the lanes as the API returns them. */
const selectLaneViews = build
  .selectFrom('payout_lanes as l')
  .leftJoin('payout_lane_scans as s', (join) => join.onRef('s.lane', '=', 'l.lane').onRef('s.address', '=', 'l.address'))
  .select(['l.lane', 'l.address', 'l.nonce', 'l.batch', 'l.landed', 'l.stale', 'l.reason', isoInstant('l.waiting_since').as('waitingSince')])
  .select(['s.listed', 's.read', 's.complete'])
  .orderBy('l.lane');
const countOpen = build
  .selectFrom('payments')
  .select(['state', sql<number>`count(*)::int`.as('n')])
  .where('payer', '=', 'treasury')
  .where('state', 'in', ['pending', 'batched', 'confirmed', 'manual'])
  .groupBy('state')
  .orderBy('state');

/**
 * Returns the state of payouts: the reasons for a pause, the problem of the distributor program, the number of open payments by state, the lanes, and up
 * to 100 unknown transactions.
 */
export async function payoutsStatus(app: App) {
  const { db } = app;
  const [state, paused, lanes, findings, counts, distributor] = await Promise.all([
    db.query(selectReconciliation),
    db.query(selectPause, [PAYOUTS_SCOPE]),
    run(db, selectLaneViews),
    run(db, selectUnknownTransactions),
    run(db, countOpen),
    distributorProblem(app),
  ]);
  return {
    paused: paused[0]?.reason ?? null,
    held: state[0]?.manualReason ?? null,
    doubt: state[0]?.mismatchReason ?? null,
    distributor,
    counts: Object.fromEntries(counts.map(({ state, n }) => [state, n])),
    lanes: lanes.map(({ listed, read, complete, ...lane }) => ({
      ...lane,
      history: listed === null || read === null || complete === null ? null : { listed, read, complete },
    })),
    findings,
  };
}
