import { planPayouts } from '#jobs/payouts.ts';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { alert } from '../alerts.ts';
import { currentLaneAddress, openLane } from '../lanes/open.ts';
import { type LaneReconciliation, reconcileLanes } from '../lanes/reconcile.ts';
import { selectLane, selectLanesInDemand } from '../lanes/rows.ts';
import type { Currency } from '../payments.ts';
import { reconcile, reportProblems } from '../reconciliation/reconciliation.ts';
import { selectReconciliation } from '../reconciliation/rows.ts';
import { planLane } from './plan.ts';

/** SQL that returns rows while `runPlanner` has work: pending payments of the treasury, and lanes with a batch or an unknown state. */
export const PENDING_PLANS = `select 1 where exists (select from payments where payer = 'treasury' and state = 'pending')
  or exists (select from payout_lanes where batch is not null or stale)`;
const selectLaneStatus = statement<{ stale: number; busy: boolean; paused: boolean }>(
  'select_payout_lane_status',
  `select (select count(*) from payout_lanes where stale)::int as stale, exists (select 1 from payout_lanes where batch is not null) as busy,
     exists (select 1 from chain_pauses where scope in ('payouts', 'everything')) as paused`,
);

/** Returns the mints that are configured, keyed by currency. */
function mintsOf(app: App): Map<Currency, Address> {
  const { usdcMint, rewardMint } = app.config.chain;
  const mints = new Map<Currency, Address>();
  if (usdcMint !== null) mints.set('usdc', app.chain.usdcMint);
  if (rewardMint !== null) mints.set('reward', app.chain.rewardMint);
  return mints;
}

/**
 * Reconciles stale lanes, and plans batches for free lanes. Several processes may run this function concurrently. Raises an alert and returns false
 * when the RPC node does not answer.
 * @returns whether another run is needed soon
 */
export async function runPlanner(app: App): Promise<boolean> {
  try {
    return await plan(app);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    alert(app, 'chain', error.message);
    return false;
  }
}

/**
 * Compares the lanes in the database with the chain. Lets the planner read the histories of unexplained lanes, so that two processes do not read the
 * same transactions. Raises an alert and changes nothing when the RPC node does not answer.
 */
export async function runReconciliation(app: App): Promise<void> {
  try {
    const { unexplained } = await reconcile(app);
    if (unexplained > 0) await app.tx(async (tx) => tx.enqueue(planPayouts, {}));
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    alert(app, 'chain', error.message);
  }
}

/** Whether this process has reconciled all lanes since it started. */
const reconciled = perApp(() => ({ done: false }));

async function plan(app: App): Promise<boolean> {
  const before = (await app.db.query(selectLaneStatus))[0];
  const sinceStart = app.state(reconciled);
  let result: LaneReconciliation | null = null;
  if (!sinceStart.done || (await app.db.query(selectReconciliation))[0]?.mismatchReason) {
    result = await reconcile(app);
    sinceStart.done = true;
  } else if (before !== undefined && before.stale > 0) {
    result = await reconcileLanes(app, 'stale', { readsHistory: false });
    await reportProblems(app, result);
  }
  const mints = mintsOf(app);
  const lanes = await app.db.query(selectLanesInDemand, [[...mints.keys()]]);
  if (lanes.length > 0 && !(await isPaused(app))) await Promise.all(lanes.map(({ lane }) => serveLane(app, lane, mints)));
  // Histories are read last, so that the payments of the other lanes do not wait for them.
  if (result !== null && result.unexplained > 0) {
    result = await reconcileLanes(app, 'stale', { readsHistory: true });
    await reportProblems(app, result);
  }
  const after = (await app.db.query(selectLaneStatus))[0];
  const isReading = result !== null && result.unexplained > result.stuck;
  return isReading || (after !== undefined && !after.paused && (after.busy || after.stale > (result?.stuck ?? 0)));
}

const isPaused = async (app: App): Promise<boolean> => (await app.db.query(selectLaneStatus))[0]?.paused ?? true;

/** Plans a batch on a lane. If the lane has no nonce account for the present fee payer, opens this account instead. */
async function serveLane(app: App, number: number, mints: ReadonlyMap<Currency, Address>): Promise<void> {
  const [lane] = await run(app.db, selectLane(number));
  if (!lane?.nonce || lane.address !== currentLaneAddress(app, number)) await openLane(app, number);
  else await planLane(app, lane, mints);
}
