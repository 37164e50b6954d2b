import { expect } from '@jest/globals';
import { bucketOf, bucketStart, dayNumber, PERIODS } from '#lib/periods.ts';
import { handlers } from '#workers/handlers.ts';
import type { TestApp } from '../app.ts';
import type { randomGenerator } from '../areas/board-model.ts';
import type { Model } from './model.ts';
import { QUESTS } from './quests.ts';
import { type Fetch, type Player, readAll } from './requests.ts';
import { GAME_IDS, type Mode } from './rows.ts';

/** The maximum multiplier without a linked account and a token, in basis points. */
const MAX_BASIS_POINTS = 15_000;

/** The part of a history that its jobs need. */
interface Running {
  readonly t: TestApp;
  readonly admin: Fetch;
  readonly random: ReturnType<typeof randomGenerator>;
  readonly model: Model;
  readonly players: readonly Player[];
  applyBans(): Promise<void>;
}

interface QuestRow {
  readonly wallet: string;
  readonly mode: Mode;
  readonly cause: string;
  readonly reason: string;
  readonly points: number;
  readonly rewards: boolean;
  readonly day: string;
  readonly factors: { readonly basePoints: number; readonly basisPoints: number };
}

/** Runs the jobs that follow on scores, plays, bans and requests until nothing is left to do. */
export async function settle(history: Running): Promise<void> {
  const { app } = history.t;
  await history.applyBans();
  await handlers.consumeActivities(app, {});
  history.model.referrals.consume();
  await applyBansToEpochs(history);
  await handlers.sweepQuests(app, {});
  await handlers.completeQuests(app, {});
  await handlers.refreshBoards(app, {});
  await adoptQuestRows(history);
}

/** Computes the epochs anew whose wallets were banned, or are no longer banned, since the last allocation. */
async function applyBansToEpochs({ t: { app }, model }: Running): Promise<void> {
  if (model.closed === null) return;
  await handlers.sweepEpochs(app, {});
  for (let epoch = model.firstDay; epoch <= model.closed; epoch++) await handlers.computeEpoch(app, { epoch });
}

/** Adds new quest completions to the model. When a quest is completed is tested elsewhere; here, each completion must give its points once. */
export async function adoptQuestRows({ players, model, admin, t }: Running): Promise<void> {
  const lists = await Promise.all(players.map(({ wallet }) => readAll<QuestRow>(admin, `/admin/wallets/${wallet}/ledger?source=quest`)));
  const day = t.clock.now().toISOString().slice(0, 10);
  for (const { wallet, mode, cause, reason, points, rewards, factors, ...row } of lists.flatMap((list) => list.toReversed())) {
    if (
      reason === 'revoke' ||
      model.rows.some((known) => known.wallet === wallet && known.mode === mode && known.cause === cause && known.reason === reason)
    )
      continue;
    if (reason !== 'quest') {
      adoptVoid(model, { wallet, mode, cause, reason, points });
      continue;
    }
    const quest = QUESTS.find(({ id }) => id === cause.split(':')[0]);
    expect({ cause, rewards, day: row.day, basePoints: factors.basePoints }).toEqual({ cause, rewards: true, day, basePoints: quest?.points });
    expect(factors.basisPoints).toBeLessThanOrEqual(MAX_BASIS_POINTS);
    expect(points).toBe(Math.floor((factors.basePoints * factors.basisPoints) / 10_000));
    model.rows.push({ wallet, mode, source: 'quest', kind: 'quest', reason, cause, points, rewards, day: model.today });
  }
}

/** Adds the void of a completion, or its restoration. It takes all points of the completion, or gives them all back. */
function adoptVoid(model: Model, row: Pick<QuestRow, 'wallet' | 'mode' | 'cause' | 'reason' | 'points'>): void {
  const completed = row.cause.split(':').slice(0, 2).join(':');
  const given = model.rowsOf(row.wallet, row.mode).find(({ cause, reason }) => cause === completed && reason === 'quest');
  const present = model.completion(row.wallet, row.mode, completed);
  expect({ ...row, present }).toEqual({
    ...row,
    ...(row.reason === 'void' ? { points: -(given?.points ?? 0), present: given?.points } : { points: given?.points, present: 0 }),
  });
  model.rows.push({ ...row, source: 'quest', kind: 'quest', rewards: true, day: model.today });
}

/** Closes the periods that have ended, stores their final ranks, and computes the epochs of the closed days. */
export async function close({ t: { app, clock }, model, random }: Running): Promise<void> {
  const day = dayNumber(clock.now());
  for (const period of PERIODS) {
    for (let one = model.firstDay; one < bucketStart(period, bucketOf(period, day)); one++) {
      for (const id of GAME_IDS) model.keepFinals(`game:${id}`, period, one);
    }
  }
  // One run stores the final ranks of at most 20 periods, and one sweep creates at most ten epochs.
  for (let i = 0; i < 2; i++) await handlers.closePeriods(app, {});
  for (let i = 0; i < 2; i++) await handlers.sweepEpochs(app, {});
  for (let epoch = model.firstDay; epoch < day; epoch++) await handlers.computeEpoch(app, { epoch });
  if (random.int(0, 1) === 1) await handlers.projectDay(app, {});
  model.closed = day - 1;
}
