import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

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
// Marks the replays that it keeps, so that the next calls do not read them again.
const purge = statement<{ count: number }>(
  'purge_score_replays',
  `with due as materialized (
     select r.score_id, s.personal_best from score_replays r
     cross join lateral (select personal_best, status from scores where id = r.score_id offset 0) s
     where not r.kept and r.at <= (select app_now()) - make_interval(days => $1::int) and s.status <> 'held'
     limit ${MAX_BATCH_SIZE} for update of r skip locked),
   marked as (update score_replays r set kept = true from due where r.score_id = due.score_id and due.personal_best),
   deleted as (delete from score_replays r using due where r.score_id = due.score_id and not due.personal_best returning r.play_id),
   seeds as (delete from play_seeds p using deleted where p.play_id = deleted.play_id)
   select count(*)::int as count from due`,
);

/**
 * Deletes a batch of replays that are older than `days`, with the seeds of their plays. Keeps the replays of personal bests, because boards show these scores, and of held scores,
 * because a moderator needs them and an accepted score can become a personal best.
 * @returns whether more rows may be left
 */
export async function purgeReplays(tx: Tx, days: number): Promise<boolean> {
  return ((await tx.query(purge, [days]))[0]?.count ?? 0) === MAX_BATCH_SIZE;
}
