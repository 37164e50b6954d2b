import { randomInt } from 'node:crypto';
import { appendActivities, COUNTER_SHARDS } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Game } from '../games/definition.ts';
import { drawSeed } from '../replays/store.ts';
import { endOfPlay } from './end-of-play.ts';

/** Maximum plays without a score that a wallet may have started within an hour. */
export const MAX_UNFINISHED_PLAYS = 200;

const lockPlays = statement('lock_plays', 'select pg_advisory_xact_lock(hashtextextended($1, 4201))');

// Looks up the score of each play with a subquery instead of a join, because PostgreSQL would hash all scores for a join. Calls app_now() in a
// subquery, because PostgreSQL would otherwise call this volatile function once per row.
const insertPlay = statement<{ startedAt: string | null; retryAfterSec: number | null }>(
  'insert_play',
  `with recent as materialized (
     select p.started_at from plays p
     where p.wallet = $2 and p.started_at > (select app_now() - interval '1 hour') and (select s.play_id from scores s where s.play_id = p.id) is null
     order by p.started_at desc limit ${MAX_UNFINISHED_PLAYS}),
   play as (
     insert into plays (id, wallet, game_id, started_at, mode)
     select $1::uuid, $2, $3, app_now(), coalesce((select mode from players where wallet = $2), 'regular')
     where (select count(*) from recent) < ${MAX_UNFINISHED_PLAYS} returning started_at, mode),
   player as (
     insert into game_players (game_id, wallet) select $3, $2 from play where mode = 'regular' on conflict do nothing returning game_id),
   counted as (
     insert into game_counters as c (game_id, shard, plays, players) select $3, $4::smallint, 1, (select count(*) from player) from play where mode = 'regular'
     on conflict (game_id, shard) do update set plays = c.plays + 1, players = c.players + excluded.players)
   select (select ${instant('started_at')} from play) as "startedAt",
          (select ceil(extract(epoch from min(started_at) + interval '1 hour' - app_now()))::int from recent) as "retryAfterSec"`,
);

/**
 * Starts a play. A play in regular mode is added to the counters of the game. A lock per wallet serializes the wallet's requests to start a play, so that the limit `MAX_UNFINISHED_PLAYS` is exact.
 * @throws 429 when the wallet started too many plays in the last hour that have no score
 */
export async function startPlay(tx: Tx, wallet: string, game: Game): Promise<{ playId: string; startedAt: string; seed: string | null }> {
  const gameId = game.id;
  const playId = newId();
  await tx.query(lockPlays, [wallet]);
  const { startedAt, retryAfterSec } = (await tx.query(insertPlay, [playId, wallet, gameId, randomInt(COUNTER_SHARDS)]))[0] ?? {};
  if (!startedAt) {
    throw fail(429, `this wallet started ${MAX_UNFINISHED_PLAYS} plays in the last hour that have no score: submit scores for these plays, or wait`, {
      'Retry-After': String(Math.max(1, retryAfterSec ?? 1)),
    });
  }
  await appendActivities(tx, [{ kind: 'play', sourceId: playId, wallet, gameId, amount: 0 }]);
  const seed = game.simulation === undefined ? null : await drawSeed(tx, { id: playId, wallet, gameId }, game.simulation);
  return { playId, startedAt, seed };
}

const selectEnded = statement<{ id: string }>(
  'select_ended_play',
  `select id from plays
   where wallet = $1 and game_id = $2 and started_at > (select app_now()) - $4::int8 * interval '1 millisecond'
   order by started_at desc, id desc offset $3::int limit 1`,
);

/** Returns the play that the newest play of a wallet in a game ended; null when it ended none. */
export async function findEndedPlay(tx: Tx, wallet: string, { id, maxLivePlays, caps }: Game): Promise<string | null> {
  return (await tx.query(selectEnded, [wallet, id, maxLivePlays, caps.maxDurationMs]))[0]?.id ?? null;
}

/** Returns the WebSocket URL for the heartbeats of a play. */
export function heartbeatUrl(publicUrl: URL, gameId: string, playId: string): string {
  const url = new URL(`/game/${gameId}/session?playId=${playId}`, publicUrl);
  url.protocol = publicUrl.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

/** A play of the wallet that sends the request. */
interface OwnPlay {
  id: string;
  /** Start of the play, ms since 1970. */
  startedAt: number;
  ageMs: number;
  /** Whether a score names this play already. Only one score can name a play. */
  used: boolean;
  /** Whether the wallet started as many newer plays as the game allows at once. */
  ended: boolean;
}

const selectOwnPlay = statement<OwnPlay>(
  'select_own_play',
  `select p.id, extract(epoch from p.started_at)::float8 * 1000 as "startedAt", extract(epoch from app_now() - p.started_at)::float8 * 1000 as "ageMs",
          exists (select from scores s where s.play_id = p.id) as used, ${endOfPlay('p', '$4::int')} is not null as ended
   from plays p where p.id = $1 and p.wallet = $2 and p.game_id = $3`,
);

/** Finds a play by its id, wallet and game; null when no play matches all three. */
export async function findOwnPlay(db: Queryable, id: string, wallet: string, game: Game): Promise<OwnPlay | null> {
  return (await db.query(selectOwnPlay, [id, wallet, game.id, game.maxLivePlays]))[0] ?? null;
}
