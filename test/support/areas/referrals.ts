import { processScores } from '#areas/arcade';
import { voidScore } from '#areas/arcade/scores/decide.ts';
import { type ActivityEvent, appendPoints, ensurePlayer, openDay, scheduleRefresh } from '#areas/points';
import { referralConsumer } from '#areas/referrals';
import { bindWallet } from '#areas/referrals/bind.ts';
import { findOrCreateLink } from '#areas/referrals/links.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';
import { becomeOwner, NEW_ID } from '../database.ts';
import { registerGame, TEST_GAME } from './arcade.ts';
import { sql } from './boards.ts';
import { randomWallet } from './epochs.ts';

/** Ids of a game whose scores are verified by a play, and of a game without verification. In both, a score of 100 gives 10 points. */
export const VERIFIED = 'verified-game';
export const FREE = 'free-game';

export async function registerGames(t: TestApp): Promise<void> {
  await registerGame(t.url, ADMIN_TOKEN, VERIFIED, { ...TEST_GAME, pointsPer10000: 1_000 });
  await registerGame(t.url, ADMIN_TOKEN, FREE, { ...TEST_GAME, pointsPer10000: 1_000, verification: 'none', rewards: false });
}

/** Creates the player row of a wallet, as a sign-in does. */
export const join = (app: App, wallet: string) => app.tx((tx) => ensurePlayer(tx, wallet));

/** Binds a wallet with its referrer's link. */
export async function bindTo(app: App, referrer: string, wallet: string): Promise<void> {
  const { code } = await findOrCreateLink(app, referrer);
  await app.tx((tx) => bindWallet(tx, wallet, code));
}

/** Creates a referrer and `n` wallets that it referred. */
export async function makeReferrals(app: App, n: number): Promise<[string, ...string[]]> {
  const referrer = randomWallet();
  await join(app, referrer);
  const children = Array.from({ length: n }, randomWallet);
  for (const child of children) {
    await join(app, child);
    await bindTo(app, referrer, child);
  }
  return [referrer, ...children];
}

const insertPlay = statement<{ id: string }>(
  'test_insert_play',
  `insert into plays (id, wallet, game_id, started_at) values (${NEW_ID}, $1, $2, app_now() - interval '1 minute') returning id`,
);

/** Records a score of a wallet, as the workers do. */
export async function score(t: TestApp, wallet: string, gameId: string, value: number): Promise<{ scoreId: string; points: number }> {
  const play = gameId === FREE ? null : ((await t.app.tx((tx) => tx.query(insertPlay, [wallet, gameId])))[0]?.id ?? null);
  const submission = {
    ...{
      id: newId(),
      wallet,
      gameId,
      score: value,
      playId: play,
      durationMs: null,
      battleId: null,
      signature: null,
      replay: null,
      idempotencyKey: null,
    },
    ...{ at: t.clock.now().toISOString(), bodyHash: '0'.repeat(64) },
  };
  const [answer] = await processScores(t.app, [submission]);
  if (answer?.outcome.status !== 200) throw new Error(JSON.stringify(answer));
  return { scoreId: answer.outcome.receipt.scoreId, points: answer.outcome.receipt.pointsAwarded };
}

export const voidTestScore = (app: App, scoreId: string): Promise<void> => voidScore(app, scoreId, { by: 'test', reason: 'a test' });

const selectOpen = statement<Omit<ActivityEvent, 'amount'>>(
  'test_open_activities',
  `select kind, source_id as "sourceId", wallet, game_id as "gameId", battle_id as "battleId", day, (extract(epoch from at) * 1000)::float8 as at from (
     select kind, source_id, wallet, game_id, battle_id, day, at, batch from activities
     union all select 'score', id::text, wallet, game_id, battle_id, day, at, batch from scores) a
   where batch <> 0 and ($2::text[] is null or kind = any($2)) order by at limit $1`,
);
const markConsumed = [
  statement('test_mark_activities', 'update activities set batch = 0 where source_id = $1 and kind = $2'),
  statement('test_mark_scores', `update scores set batch = 0 where id::text = $1 and $2 = 'score' and batch is not null`),
];

/**
 * Runs the consumer on its next batch, as the job does.
 * @param options.most maximum activities of the batch
 * @param options.kinds consumes activities of these kinds only
 * @param options.killed rolls the transaction back before its commit
 * @returns the consumed activities and the day number
 */
export async function consume(
  app: App,
  options: { maxActivities?: number; kinds?: readonly ActivityEvent['kind'][]; killed?: boolean } = {},
): Promise<{ activities: ActivityEvent[]; day: number }> {
  const killed = new Error('killed');
  try {
    return await app.tx(async (tx) => {
      const rows = await tx.query(selectOpen, [options.maxActivities ?? 100_000, options.kinds ?? null]);
      const activities = rows.map((row) => ({ ...row, amount: 0n }));
      const open = await openDay(tx);
      await scheduleRefresh(tx, await appendPoints(tx, open, await referralConsumer.consume(app, tx, open, activities)));
      // Only the owner of the tables may change activities. The service marks them by a batch.
      await tx.query(becomeOwner);
      for (const { sourceId, kind } of activities) for (const mark of markConsumed) await tx.query(mark, [sourceId, kind]);
      if (options.killed) throw killed;
      return { activities, day: open.day };
    });
  } catch (error) {
    if (error !== killed) throw error;
    return { activities: [], day: 0 };
  }
}

/** Reads the referral rows of a wallet from the ledger, ordered by points. */
export const ledgerOf = (app: App, wallet: string) =>
  sql<{ reason: string; points: number; mode: string; rewards: boolean; sourceId: string }>(
    app,
    `select reason, points::int as points, mode, rewards, source_id as "sourceId" from ledger where wallet = $1 and kind = 'referral' order by points, source_id`,
    [wallet],
  );

/** Reads a wallet's standings on a board as texts such as `regular 3`, ordered by mode. */
export async function standingsOf(app: App, wallet: string, board = 'referrals'): Promise<string[]> {
  const rows = await sql<{ mode: string; total: number }>(
    app,
    'select mode, total::int as total from standings where board = $1 and wallet = $2 order by mode',
    [board, wallet],
  );
  return rows.map(({ mode, total }) => `${mode} ${total}`);
}
