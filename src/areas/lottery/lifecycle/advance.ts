import * as jobs from '#jobs/rounds.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { type RoundKind, type RoundRow, readRound } from '../rows.ts';
import { confirmCommitment } from './confirm.ts';
import { draw, isCommitted } from './draw.ts';
import { closeRound } from './freeze.ts';
import { buildRoot } from './root.ts';
import { isClosed } from './rows.ts';

/** Maximum steps per call. A round needs four steps from active to finalized. */
const MAX_STEPS = 8;

/** Advances a round through all states that it can reach now. Idempotent. */
export async function advanceRound(app: App, id: string): Promise<void> {
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const round = await readRound(app.db, id);
    if (!round || !(await step(app, round))) return;
  }
}

/** Advances a round by one state. @returns false when the round cannot advance now */
async function step(app: App, round: RoundRow): Promise<boolean> {
  if (round.state === 'active') return await app.tx((tx) => closeRound(app, tx, round.id, 'due'));
  if (!isClosed(round)) return false;
  switch (round.state) {
    case 'closing':
      return await (round.root === null ? buildRoot(app, round) : confirmCommitment(app, round));
    case 'committed':
      return isCommitted(round) && (await draw(app, round));
    default:
      return false;
  }
}

/** Maximum jobs per sweep. */
const MAX_JOBS_PER_SWEEP = 200;
/** Delay before `sweepRounds` enqueues a job for the same round again, ms. */
const SWEEP_RETRY_MS = 2_000;

/** SQL: the rounds that can advance. */
export const DUE_ROUNDS = `select id from rounds where look_at <= (select app_now()) and (
       (state = 'active' and closes_at <= (select app_now())) or state = 'closing' or (state = 'committed' and beacon_due_at <= (select app_now())))`;
// The rounds of operators come first, so that the rounds which any wallet can open do not delay them.
const take = statement<{ round: string; kind: RoundKind }>(
  'take_due_rounds',
  `with due as (
     ${DUE_ROUNDS} order by kind = 'legacy', look_at limit ${MAX_JOBS_PER_SWEEP} for update skip locked)
   update rounds r set look_at = app_now() + interval '${SWEEP_RETRY_MS} milliseconds' from due where r.id = due.id returning r.id::text as round, r.kind`,
);

/** Enqueues a job for each round that can advance. */
export async function sweepRounds(app: App): Promise<void> {
  await app.tx(async (tx) => {
    for (const payload of await tx.query(take)) tx.enqueue(jobs.advanceRound, payload);
  });
}
