import * as jobs from '#jobs/rounds.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { type RoundRow, readRound } from '../rows.ts';
import { land } from './confirm.ts';
import { draw, isCommitted } from './draw.ts';
import { closeRound } from './freeze.ts';
import { buildRoot } from './root.ts';
import { isOpened } from './rows.ts';

/** From active to drawn a round goes on four times. */
const MOST_STEPS = 8;

/** Takes a round as far as it can go now. Harmless when run twice, by anyone, at any time. */
export async function advanceRound(app: App, id: string): Promise<void> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const round = await readRound(app.db, id);
    if (!round || !(await step(app, round))) return;
  }
}

/** @returns whether the round has gone on */
async function step(app: App, round: RoundRow): Promise<boolean> {
  if (!isOpened(round)) return false;
  switch (round.state) {
    case 'active':
      return await app.tx((tx) => closeRound(tx, round.id, 'due'));
    case 'closing':
      return await (round.root === null ? buildRoot(app, round) : land(app, round));
    case 'committed':
      return isCommitted(round) && (await draw(app, round));
    default:
      return false;
  }
}

/** Rounds that one look rings for, and for how long they are not rung for again, ms: a step that fails is tried again then. */
const MOST_RUNG = 200;
const AGAIN_MS = 2_000;

const take = statement<{ round: string }>(
  'take_rounds_that_go_on',
  `with due as (
     select id from rounds where look_at <= app_now() and (
       (state = 'active' and closes_at <= app_now()) or state = 'closing' or (state = 'committed' and beacon_due_at <= app_now()))
     order by look_at limit ${MOST_RUNG} for update skip locked)
   update rounds r set look_at = app_now() + interval '${AGAIN_MS} milliseconds' from due where r.id = due.id returning r.id::text as round`,
);

/** Rings for rounds that can go on. */
export async function sweepRounds(app: App): Promise<void> {
  await app.tx(async (tx) => {
    for (const payload of await tx.query(take)) tx.enqueue(jobs.advanceRound, payload);
  });
}
