import { randomInt } from 'node:crypto';
import { activitiesAsJson, COUNTER_SHARDS, insertBatch } from '#areas/points';
import type { HttpError } from '#lib/errors.ts';
import { daysBefore, newId, tomorrow } from '#lib/ids.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { idBetween, instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Game } from '../games/definition.ts';
import { storeSeeds, tooManySeeds, UnfinishedSeeds } from '../replays/seeds.ts';

/** Maximum plays without a score that a wallet may have started within an hour. */
export const MAX_UNFINISHED_PLAYS = 200;

const DAY_MS = 86_400_000;

/** A request of a wallet to start a play. */
export interface PlayRequest {
  readonly wallet: string;
  readonly game: Game;
}

/** A play that a request started. */
export interface StartedPlay {
  readonly playId: string;
  readonly startedAt: string;
  /** Seed of the play, hex; null in a game without a simulation. */
  readonly seed: string | null;
  /** The play that this play ended; null when it ended none, and in a game that does not verify by heartbeat. */
  readonly ended: string | null;
}

// Takes the locks in the order of their keys, so that two transactions with the same wallets do not deadlock.
const lockPlays = statement(
  'lock_plays',
  `select pg_advisory_xact_lock(key) from (
     select distinct hashtextextended(wallet, 4201) as key from unnest($1::text[]) as w(wallet) order by key) as k`,
);

/** SQL: conditions on the id of a play of the last hour, so that PostgreSQL skips the partitions of other months before it opens them. */
const isRecent = (id: string) => idBetween(id, '$3::uuid', '$4::uuid');
/** SQL: the plays of a wallet `k` of the last hour. */
const RECENT = `p.wallet = k.wallet and ${isRecent('p.id')} and p.started_at > (select app_now() - interval '1 hour')`;

// The newest play of a wallet stores an upper bound of the wallet's plays without a score. Later scores and the age of the plays only lower their number, so the
// bound stays valid. PostgreSQL counts these plays only if the bound reaches the limit. The bound is 0 if the wallet started no play in the last hour.
// Looks up the score of each play with a subquery instead of a join, because PostgreSQL would hash all scores for a join. Calls app_now() in a
// subquery, because PostgreSQL would otherwise call this volatile function once per row. Ids of two processes differ from their times by less than a day.
const selectUnfinished = statement<{ wallet: string; count: number; retryAfterSec: number | null }>(
  'select_unfinished_plays',
  `select k.wallet, case when b.bound + k.requests > ${MAX_UNFINISHED_PLAYS} then u.count else b.bound end as count, u."retryAfterSec"
   from unnest($1::text[], $2::int[]) as k(wallet, requests),
     lateral (
       select coalesce((select coalesce(p.unfinished, ${MAX_UNFINISHED_PLAYS}) from plays p where ${RECENT} order by p.started_at desc limit 1), 0)::int as bound) b,
     lateral (
       select count(*)::int as count, ceil(extract(epoch from min(started_at) + interval '1 hour' - (select app_now())))::int as "retryAfterSec" from (
         select p.started_at from plays p
         where b.bound + k.requests > ${MAX_UNFINISHED_PLAYS} and ${RECENT}
           and (select s.play_id from score_plays s where s.play_id = p.id and ${isRecent('s.play_id')}) is null
         order by p.started_at desc limit ${MAX_UNFINISHED_PLAYS}) as recent) u`,
);

// Inserts the players in the same order as the statement `insert_scores`, so that the two do not deadlock.
const insertPlays = statement<{ startedAt: string }>(
  'insert_plays',
  `with clock as materialized (select app_now() as now),
   batch as (${insertBatch('(select now from clock)', '$6::json')}),
   play as (
     insert into plays (id, wallet, game_id, started_at, mode, unfinished, batch)
     select k.id, k.wallet, k.game_id, c.now, coalesce((select mode from players where wallet = k.wallet), 'regular'), k.unfinished, (select id from batch)
     from unnest($1::uuid[], $2::text[], $3::text[], $5::int2[]) as k(id, wallet, game_id, unfinished), clock c returning wallet, game_id, mode),
   player as (
     insert into game_players (game_id, wallet)
     select game_id, wallet from play where mode = 'regular' group by game_id, wallet order by game_id, wallet collate "default"
     on conflict do nothing returning game_id),
   change as (
     select game_id, 1 as plays, 0 as players from play where mode = 'regular'
     union all select game_id, 0, 1 from player),
   counted as (
     insert into game_counters as c (game_id, shard, plays, players)
     select game_id, $4::smallint, sum(plays), sum(players) from change group by game_id order by game_id
     on conflict (game_id, shard) do update set plays = c.plays + excluded.plays, players = c.players + excluded.players)
   select ${instant('now')} as "startedAt" from clock`,
);

const selectEnded = statement<{ wallet: string; gameId: string; ended: string }>(
  'select_ended_plays',
  `select k.wallet, k.game_id as "gameId", e.id::text as ended
   from unnest($1::text[], $2::text[], $3::int[], $4::int8[], $5::int[]) as k(wallet, game_id, max_live_plays, max_duration_ms, count), lateral (
     select p.id from plays p
     where p.wallet = k.wallet and p.game_id = k.game_id and ${idBetween('p.id', '$6::uuid', '$7::uuid')}
       and p.started_at > (select app_now()) - k.max_duration_ms * interval '1 millisecond'
     order by p.started_at desc, p.id desc offset k.max_live_plays limit k.count) as e`,
);

/**
 * Starts plays, each with its own outcome. Adds the plays in regular mode to the counters of their games. A lock per wallet serializes the requests of
 * a wallet across all processes, so that the limits of unfinished plays are exact.
 * @param write function that runs the statements which insert the plays; `tx.last` also commits them in the same round trip
 * @returns for each request, in the order of the requests: the play, or the error 429 when the wallet has too many plays without a score
 */
export async function startPlays(
  tx: Tx,
  requests: readonly PlayRequest[],
  write: Tx['last'] = (start) => start(),
): Promise<(StartedPlay | HttpError)[]> {
  const byWallet = Map.groupBy(requests, ({ wallet }) => wallet);
  const wallets = [...byWallet.keys()];
  const numbers = [...byWallet.values()].map((ofWallet) => ofWallet.length);
  // Sends the statements in one round trip. PostgreSQL runs them in this order: the locks, then the reads, which need the locks.
  const [, unfinished, seeds] = await Promise.all([
    tx.query(lockPlays, [wallets]),
    tx.query(selectUnfinished, [wallets, numbers, daysBefore(newId(), 1), tomorrow()]),
    UnfinishedSeeds.read(tx, requests),
  ]);
  const plays = new Map(unfinished.map(({ wallet, ...row }) => [wallet, row]));
  const outcomes = requests.map((request) => {
    const own = plays.get(request.wallet);
    if (!own) throw new Error('the unfinished plays of a wallet were not read');
    if (own.count >= MAX_UNFINISHED_PLAYS) return tooManyPlays(own.retryAfterSec);
    const seed = seeds.draw(request);
    if (seed === 'too-many') return tooManySeeds(seeds.retryAfterSec(request));
    own.count += 1;
    return { ...request, playId: newId(), seed };
  });
  // All plays of a wallet store its final count, because they start at the same time.
  const started = outcomes.flatMap((outcome) =>
    'playId' in outcome ? [{ ...outcome, unfinished: plays.get(outcome.wallet)?.count ?? MAX_UNFINISHED_PLAYS }] : [],
  );
  const { startedAt, ended } = started.length === 0 ? NONE : await write(() => insert(tx, started));
  return outcomes.map((outcome) => {
    if (!('playId' in outcome)) return outcome;
    const { playId, seed } = outcome;
    return { playId, startedAt, seed: seed?.toString('hex') ?? null, ended: ended.get(keyOf(outcome))?.shift() ?? null };
  });
}

/** A play to insert. */
interface NewPlay extends PlayRequest {
  readonly playId: string;
  readonly seed: Buffer | null;
  /** Upper bound of the plays without a score that the wallet has in this hour, with the new plays. */
  readonly unfinished: number;
}

/** The result of `insert` for no plays. */
const NONE = { startedAt: '', ended: new Map<string, string[]>() };

const keyOf = ({ wallet, game }: PlayRequest) => `${game.id} ${wallet}`;

/**
 * Inserts plays.
 * @returns the time at which they started, and the plays that the plays of each wallet and game ended. Each new play ends at most one play.
 */
async function insert(tx: Tx, plays: readonly NewPlay[]): Promise<{ startedAt: string; ended: ReadonlyMap<string, string[]> }> {
  const beating = [
    ...Map.groupBy(
      plays.filter(({ game }) => game.verification === 'heartbeat'),
      keyOf,
    ).values(),
  ].flatMap(([first, ...rest]) => (first ? [{ ...first, count: 1 + rest.length }] : []));
  // Sends the statements in one round trip. The last one sees the inserted plays.
  const [inserted, , rows] = await Promise.all([
    tx.query(insertPlays, [
      plays.map((p) => p.playId),
      plays.map((p) => p.wallet),
      plays.map((p) => p.game.id),
      randomInt(COUNTER_SHARDS),
      plays.map((p) => p.unfinished),
      activitiesAsJson(plays.map(({ playId, wallet, game }) => ({ kind: 'play', sourceId: playId, wallet, gameId: game.id, amount: 0 }))),
    ]),
    storeSeeds(tx, plays),
    beating.length === 0
      ? []
      : tx.query(selectEnded, [
          beating.map((p) => p.wallet),
          beating.map((p) => p.game.id),
          beating.map((p) => p.game.maxLivePlays),
          beating.map((p) => p.game.caps.maxDurationMs),
          beating.map((p) => p.count),
          daysBefore(newId(), 1 + Math.ceil(Math.max(...beating.map((p) => p.game.caps.maxDurationMs)) / DAY_MS)),
          tomorrow(),
        ]),
  ]);
  const startedAt = inserted[0]?.startedAt;
  if (startedAt === undefined) throw new Error('the statement insert_plays returned no row');
  const byKey = Map.groupBy(rows, ({ wallet, gameId }) => `${gameId} ${wallet}`);
  return { startedAt, ended: new Map([...byKey].map(([key, of]) => [key, of.map(({ ended }) => ended)])) };
}

const tooManyPlays = (retryAfterSec: number | null): HttpError =>
  tooManyRequests(`this wallet started ${MAX_UNFINISHED_PLAYS} plays in the last hour that have no score: submit scores for these plays, or wait`, {
    ...{ name: 'unfinished-plays', quota: MAX_UNFINISHED_PLAYS, windowMs: 3_600_000, waitMs: 1_000 * Math.max(1, retryAfterSec ?? 1) },
  });
