import type { PublicKey } from '@solana/web3.js';
import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { alert } from '../alerts.ts';
import { addressOf, openLane } from '../lanes/open.ts';
import { tendLanes } from '../lanes/reconcile.ts';
import { selectLane, selectLanesInDemand } from '../lanes/rows.ts';
import type { Currency } from '../payments.ts';
import { report, watch } from '../reconciliation/reconciliation.ts';
import { selectWatch } from '../reconciliation/rows.ts';
import { planLane } from './plan.ts';

const selectTrouble = statement<{ stale: boolean; busy: boolean; paused: boolean }>(
  'select_payout_trouble',
  `select exists (select 1 from payout_lanes where stale) as stale, exists (select 1 from payout_lanes where batch is not null) as busy,
     exists (select 1 from chain_pauses where scope = 'payouts') as paused`,
);

/** Mints that payments can be made in here. */
function mintsOf(app: App): Map<Currency, PublicKey> {
  const { usdcMint, rewardMint } = app.config.chain;
  const mints = new Map<Currency, PublicKey>();
  if (usdcMint !== null) mints.set('usdc', app.chain.usdcMint);
  if (rewardMint !== null) mints.set('reward', app.chain.rewardMint);
  return mints;
}

/**
 * Frees the lanes whose batch is over, and plans the next batches of all that are free. Harmless in any number of
 * processes at once; a node that does not answer leaves everything as it is.
 * @returns whether there will be more to do soon
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

/** Looks whether the record and the chain fit; without an answer of the chain, everything stays as it is. */
export async function runReconciliation(app: App): Promise<void> {
  try {
    await watch(app);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    alert(app, 'chain', error.message);
  }
}

/** Processes that have looked at the database and the chain since they started. */
const watched = new WeakSet<App>();

async function plan(app: App): Promise<boolean> {
  const trouble = (await app.db.query(selectTrouble))[0];
  if (!watched.has(app) || (await app.db.query(selectWatch))[0]?.doubt) {
    await watch(app);
    watched.add(app);
  } else if (trouble?.stale) await report(app, await tendLanes(app, 'stale'));
  const mints = mintsOf(app);
  const lanes = await app.db.query(selectLanesInDemand, [[...mints.keys()]]);
  if (lanes.length > 0 && !(await isPaused(app))) await Promise.all(lanes.map(({ lane }) => serve(app, lane, mints)));
  const after = (await app.db.query(selectTrouble))[0];
  return after !== undefined && !after.paused && (after.busy || after.stale);
}

const isPaused = async (app: App): Promise<boolean> => (await app.db.query(selectTrouble))[0]?.paused ?? true;

/** One lane's turn: it is opened when something is owed on it for the first time, or the fee payer is another. */
async function serve(app: App, number: number, mints: ReadonlyMap<Currency, PublicKey>): Promise<void> {
  const lane = (await app.db.query(selectLane, [number]))[0];
  if (!lane?.nonce || lane.address !== addressOf(app, number)) await openLane(app, number);
  else await planLane(app, lane, mints);
}
