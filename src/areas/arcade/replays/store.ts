import { randomBytes } from 'node:crypto';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';

/** Maximum plays of a wallet and game within 24 hours that have a seed and no score, so that a wallet cannot look for a seed that suits it. */
export const MAX_UNFINISHED_SEEDS = 50;

const countUnfinished = statement<{ count: number; retryAfterSec: number | null }>(
  'count_unfinished_seeds',
  `select count(*)::int as count, ceil(extract(epoch from min(started_at) + interval '24 hours' - app_now()))::int as "retryAfterSec"
   from (select p.started_at from plays p
         where p.wallet = $1 and p.started_at > (select app_now() - interval '24 hours') and p.game_id = $2
           and exists (select from play_seeds where play_id = p.id) and (select s.play_id from scores s where s.play_id = p.id) is null
         order by p.started_at desc limit ${MAX_UNFINISHED_SEEDS}) recent`,
);

/**
 * Draws the seed of a play. Precondition: the transaction holds the lock of the wallet's plays.
 * @param simulation hash of the game's simulation, hex
 * @returns the seed, hex
 * @throws 429 when the wallet has too many unfinished plays of the game
 */
export async function drawSeed(tx: Tx, play: { id: string; wallet: string; gameId: string }, simulation: string): Promise<string> {
  const { count, retryAfterSec } = (await tx.query(countUnfinished, [play.wallet, play.gameId]))[0] ?? { count: 0, retryAfterSec: null };
  if (count >= MAX_UNFINISHED_SEEDS) {
    throw fail(
      429,
      `this wallet started ${MAX_UNFINISHED_SEEDS} plays of this game in the last 24 hours that have no score: submit their scores, or wait`,
      {
        'Retry-After': String(Math.max(1, retryAfterSec ?? 1)),
      },
    );
  }
  const seed = randomBytes(16);
  await run(tx, build.insertInto('play_seeds').values({ play_id: play.id, simulation: Buffer.from(simulation, 'hex'), seed }));
  return seed.toString('hex');
}

/** The input log of a recorded score. */
export interface NewReplay {
  readonly scoreId: string;
  readonly playId: string;
  readonly log: Buffer;
}

const insertReplays = statement(
  'insert_score_replays',
  `insert into score_replays (score_id, play_id, log, at)
   select *, $4::timestamptz from unnest($1::uuid[], $2::uuid[], $3::bytea[])`,
);

/** Stores the input logs of the new scores of a batch. */
export async function storeReplays(tx: Tx, replays: readonly NewReplay[], at: Date): Promise<void> {
  if (replays.length === 0) return;
  await tx.query(insertReplays, [replays.map((r) => r.scoreId), replays.map((r) => r.playId), replays.map((r) => r.log), at.toISOString()]);
}

/** A score that was refused because of its replay. */
export interface RefusedReplay {
  readonly wallet: string;
  readonly gameId: string;
  readonly reason: string;
}

const countRefusals = statement(
  'count_replay_refusals',
  `insert into replay_refusals as r (wallet, game_id, day, count, reason)
   select wallet, game_id, $1::int, count(*), max(reason) from unnest($2::text[], $3::text[], $4::text[]) as refused(wallet, game_id, reason)
   group by wallet, game_id order by wallet, game_id
   on conflict (wallet, game_id, day) do update set count = r.count + excluded.count, reason = excluded.reason`,
);

/** Counts refused replays by wallet, game and day. */
export async function countReplayRefusals(tx: Tx, day: number, refused: readonly RefusedReplay[]): Promise<void> {
  if (refused.length === 0) return;
  await tx.query(countRefusals, [day, refused.map((r) => r.wallet), refused.map((r) => r.gameId), refused.map((r) => r.reason)]);
}

/** Maximum rows that one call deletes. */
const MAX_BATCH_SIZE = 1_000;
const purge = statement<{ count: number }>(
  'purge_score_replays',
  `with deleted as (
     delete from score_replays where ctid = any(array(
       select r.ctid from score_replays r join scores s on s.id = r.score_id
       where r.at <= (select app_now()) - make_interval(days => $1::int) and not s.personal_best and s.status <> 'held'
       limit ${MAX_BATCH_SIZE} for update of r skip locked)) returning 1)
   select count(*)::int as count from deleted`,
);

/**
 * Deletes a batch of replays that are older than `days`. Keeps the replays of personal bests, because boards show these scores, and of held scores,
 * because a moderator needs them and an accepted score can become a personal best.
 * @returns whether more rows may be left
 */
export async function purgeReplays(tx: Tx, days: number): Promise<boolean> {
  return ((await tx.query(purge, [days]))[0]?.count ?? 0) === MAX_BATCH_SIZE;
}
