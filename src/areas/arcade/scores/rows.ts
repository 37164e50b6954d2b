import { randomInt } from 'node:crypto';
import { COUNTER_SHARDS, type DailyPoints, insertBatch, type Mode, type OpenDay } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { daysBefore, newId, rangeOf, tomorrow } from '#lib/ids.ts';
import { columnArrays } from '#platform/db/column-arrays.ts';
import { milliseconds, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { endOfPlay } from '../plays/end-of-play.ts';
import { batchOfScores, IS_OWN_ACTIVITY } from './activities.ts';
import { type Award, presentPoints } from './award.ts';
import type { Play } from './evaluate.ts';
import type { ScoreReceipt, ScoreStatus } from './schemas.ts';

/** A row of the table `scores`. */
export interface ScoreRow {
  id: string;
  wallet: string;
  gameId: string;
  gameVersion: number;
  playId: string | null;
  idempotencyKey: string | null;
  /** SHA-256 of the fields of the request, hex. */
  bodyHash: string;
  score: number;
  normalized: number;
  points: number;
  /** Why an accepted score gave no points; null when it gave points, and for a score that was never accepted. */
  noPointsReason: Award['noPointsReason'];
  personalBest: boolean;
  status: ScoreStatus;
  reasons: string[];
  mode: Mode;
  durationMs: number | null;
  battleId: string | null;
}

/** Returns the response to the submission of a score, without the rank. */
export const receiptOf = (row: ScoreRow, leftToday: DailyPoints): Omit<ScoreReceipt, 'rank'> => ({
  scoreId: row.id,
  status: row.status,
  normalizedScore: row.normalized,
  ...presentPoints(row),
  leftToday,
  personalBest: row.status === 'accepted' && row.personalBest,
});

// A play has few newer plays of its wallet, because a wallet normally submits the score of a play before the next play.
const selectPlays = statement<{ id: string; wallet: string; game_id: string; mode: Mode; started_at: number; ended_at: number | null }>(
  'select_plays',
  `select p.id, p.wallet, p.game_id, p.mode, ${milliseconds('p.started_at')} as started_at,
     ${milliseconds(endOfPlay('p', 'k.max_live_plays', '$5', '$7'))} as ended_at
   from (select id, wallet, game_id, mode, started_at from plays where id = any($1::uuid[]) and id between $3::uuid and $4::uuid offset 0) p
   join unnest($1::uuid[], $6::text[], $2::int[]) as k(id, game_id, max_live_plays) on k.id = p.id and k.game_id = p.game_id`,
);

/** A play that a submission names, with its game and `maxLivePlays` of the game. */
export interface NamedPlay {
  readonly playId: string;
  readonly gameId: string;
  readonly maxLivePlays: number;
}

/** Maximum age of the plays that are read together, days. */
const RECENT_DAYS = 40;

/** Splits ids into recent and older ones, so that one old id does not make a statement open the partitions of all months for the other ids. */
function byAge<T>(items: readonly T[], idOf: (item: T) => string): T[][] {
  const since = daysBefore(newId(), RECENT_DAYS);
  return [items.filter((item) => idOf(item) >= since), items.filter((item) => idOf(item) < since)].filter(({ length }) => length > 0);
}

/** Reads plays of the games with which they are named. Takes no lock, because rows of plays never change. */
export async function readPlays(db: Queryable, named: readonly NamedPlay[]): Promise<Map<string, Play>> {
  const read = async (plays: readonly NamedPlay[]) => {
    const ids = plays.map(({ playId }) => playId);
    const [first, last] = rangeOf(ids);
    if (first === null) return [];
    const [limits, games] = [plays.map(({ maxLivePlays }) => maxLivePlays), plays.map(({ gameId }) => gameId)];
    return await db.query(selectPlays, [ids, limits, first, last, daysBefore(first, 1), games, tomorrow()]);
  };
  const rows = (await Promise.all(byAge(named, ({ playId }) => playId).map(read))).flat();
  return new Map(
    rows.map(({ id, wallet, game_id: gameId, mode, started_at: startedAt, ended_at: endedAt }) => [
      id,
      { id, wallet, gameId, mode, startedAt: new Date(startedAt), endedAt: endedAt === null ? null : new Date(endedAt) },
    ]),
  );
}

const COLUMNS = `id, wallet, game_id as "gameId", game_version as "gameVersion", play_id as "playId", idempotency_key as "idempotencyKey",
  encode(body_hash, 'hex') as "bodyHash", score::float8 as score, normalized, points, no_points_reason as "noPointsReason", personal_best as "personalBest", status, reasons, mode,
  duration_ms as "durationMs", battle_id as "battleId"`;

// Most submissions are new, so this statement reads ids only.
const findEarlier = statement<{ id: string }>(
  'find_earlier_scores',
  // The ranges of ids let PostgreSQL skip the partitions of other months. A plan that was made while a month was small may scan this month until the job
  // `analyze-partitions` runs. `score_keys` has no partitions, so `offset 0` forces one index lookup per key there.
  `select id from scores where id = any($1::uuid[]) and id between $2::uuid and $3::uuid
   union all select score_id from score_plays where play_id = any($4::uuid[]) and play_id between $5::uuid and $6::uuid
   union all select u.score_id from unnest($7::text[], $8::text[]) as k(wallet, key), lateral (
     select score_id from score_keys where wallet = k.wallet and key = k.key offset 0) u`,
);

const selectScores = statement<ScoreRow>(
  'select_scores_by_id',
  `select ${COLUMNS} from scores where id = any($1::uuid[]) and id between $2::uuid and $3::uuid`,
);

/** Reads earlier scores that have the same id (from a repeated job), play or idempotency key as one of the submissions. */
export async function readEarlier(tx: Tx, submissions: readonly Submission[]): Promise<ScoreRow[]> {
  const ids = submissions.map((s) => s.id);
  const plays = submissions.flatMap((s) => (s.playId === null ? [] : [s.playId]));
  const keyed = submissions.filter((s) => s.idempotencyKey !== null);
  const keys = [keyed.map((s) => s.wallet), keyed.map((s) => s.idempotencyKey)];
  const [first = [], ...rest] = byAge(plays, (id) => id);
  const rows = await Promise.all([
    tx.query(findEarlier, [ids, ...rangeOf(ids), first, ...rangeOf(first), ...keys]),
    ...rest.map((older) => tx.query(findEarlier, [[], null, null, older, ...rangeOf(older), [], []])),
  ]);
  const found = [...new Set(rows.flat().map(({ id }) => id))];
  return found.length === 0 ? [] : await tx.query(selectScores, [found, ...rangeOf(found)]);
}

const insertScores = statement(
  'insert_scores',
  `with batch as (${insertBatch('$2::timestamptz', '$24::json')}),
   score as (
     insert into scores (id, wallet, game_id, game_version, play_id, idempotency_key, body_hash, score, normalized, points, no_points_reason,
                         personal_best, status, reasons, mode, duration_ms, battle_id, day, at, batch)
     select id, wallet, game_id, game_version, play_id, idempotency_key, decode(body_hash, 'hex'), score, normalized, points, no_points_reason,
            personal_best, status, case when reasons is null then '{}' else array(select jsonb_array_elements_text(reasons)) end, mode, duration_ms, battle_id, $1::int, $2::timestamptz,
            case when ${IS_OWN_ACTIVITY} then (select id from batch) end
     from unnest($4::uuid[], $5::text[], $6::text[], $7::int[], $8::uuid[], $9::text[], $10::text[], $11::int8[], $12::int[], $13::int[], $14::text[],
                 $15::bool[], $16::text[], $17::jsonb[], $18::text[], $19::int[], $20::uuid[])
       as s(id, wallet, game_id, game_version, play_id, idempotency_key, body_hash, score, normalized, points, no_points_reason,
            personal_best, status, reasons, mode, duration_ms, battle_id)
     returning game_id, normalized, status, mode),
   player as (
     insert into game_players (game_id, wallet) select * from unnest($22::text[], $23::text[]) order by 1, 2 on conflict do nothing returning game_id),
   change as (
     select game_id, 0 as plays, 0 as players, 1 as scores, normalized from score where status = 'accepted' and mode = 'regular'
     union all select game_id, 1, 0, 0, 0 from unnest($21::text[]) as own_play(game_id)
     union all select game_id, 0, 1, 0, 0 from player)
   insert into game_counters as c (game_id, shard, plays, players, scores, score_sum)
   select game_id, $3::smallint, sum(plays), sum(players), sum(scores), sum(normalized) from change group by game_id order by game_id
   on conflict (game_id, shard) do update set plays = c.plays + excluded.plays, players = c.players + excluded.players,
     scores = c.scores + excluded.scores, score_sum = c.score_sum + excluded.score_sum`,
);

const insertedColumns = columnArrays<ScoreRow>(
  (r) => r.id,
  (r) => r.wallet,
  (r) => r.gameId,
  (r) => r.gameVersion,
  (r) => r.playId,
  (r) => r.idempotencyKey,
  (r) => r.bodyHash,
  (r) => r.score,
  (r) => r.normalized,
  (r) => r.points,
  (r) => r.noPointsReason,
  (r) => r.personalBest,
  (r) => r.status,
  (r) => (r.reasons.length === 0 ? null : JSON.stringify(r.reasons)),
  (r) => r.mode,
  (r) => r.durationMs,
  (r) => r.battleId,
);

/** Plays and players that the start of a play did not count, because the score names no play, or the wallet started the play in beta mode. */
export interface UncountedPlays {
  /** Ids of the games, one per play. */
  readonly games: readonly string[];
  /** Wallets that may have no earlier play in the game. */
  readonly players: readonly { readonly gameId: string; readonly wallet: string }[];
}

/** Inserts new scores, and adds the accepted scores in regular mode and the uncounted plays to the game counters. */
export async function insertNewScores(tx: Tx, open: OpenDay, rows: readonly ScoreRow[], uncounted: UncountedPlays): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(insertScores, [
    open.day,
    open.at.toISOString(),
    randomInt(COUNTER_SHARDS),
    ...insertedColumns(rows),
    uncounted.games,
    uncounted.players.map(({ gameId }) => gameId),
    uncounted.players.map(({ wallet }) => wallet),
    batchOfScores(rows),
  ]);
}
