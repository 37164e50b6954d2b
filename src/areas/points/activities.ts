import { columnArrays } from '#platform/db/column-arrays.ts';
import { dayNumberOf, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

export const ACTIVITY_KINDS = [
  'play',
  'score',
  'void',
  'restore',
  'second-void',
  'clip',
  'burn',
  'link',
  'follow',
  'repost',
  'mention',
  'bind',
  'ban',
  'unban',
] as const;

/**
 * Kinds of activities of a voided score, in their order. All activities of a score have its id as `sourceId`. A score is restored at most once, so
 * each kind exists at most once per score.
 */
export const VOIDING_KINDS = ['void', 'restore', 'second-void'] as const;
export const isVoiding = (kind: string): kind is (typeof VOIDING_KINDS)[number] => (VOIDING_KINDS as readonly string[]).includes(kind);

/** SQL: the kinds of activities that are decisions of operators about a wallet, and not its actions. No quest counts them. */
export const DECISIONS = `'void', 'restore', 'second-void', 'ban', 'unban'`;
/** Returns whether an activity is the beginning or the end of the ban of its wallet. */
export const isBan = (kind: string): boolean => kind === 'ban' || kind === 'unban';
/** Returns whether an activity is an action of the wallet, and not a decision of an operator. */
export const isAction = (kind: string): boolean => !isVoiding(kind) && !isBan(kind);

/**
 * An action of a wallet, such as a play, a score or a burn. `kind` and `sourceId` identify the activity. If the ids of a new kind contain a time, a
 * migration adds the kind to the SQL function `cause_day`.
 */
export interface Activity {
  kind: (typeof ACTIVITY_KINDS)[number];
  sourceId: string;
  wallet: string;
  gameId: string | null;
  /**
   * Quantity that consumers add up: the normalized value of a score or restored score (negative for a void), the base units of a burn, 0 for other kinds. Maximum:
   * 2^63-1.
   */
  amount: number | bigint;
  /** Battle that a score, or its void, names; null or absent for other activities. */
  battleId?: string | null;
}

/**
 * SQL: stores a batch of activities for the consumers, and returns its id. The caller stores this id with the causes, which are the plays or scores that the same
 * statement inserts, so these activities need no rows in `activities`. Stores nothing if there are no activities.
 * @param at SQL expression for the time of the activities
 * @param activities SQL expression for the result of `activitiesAsJson`
 */
export const insertBatch = (at: string, activities: string): string => `
  insert into activity_batches (id, day, at, size, activities)
  select nextval('activity_batches_id'), ${dayNumberOf('t.at')}, t.at, json_array_length(${activities}), ${activities} from (select ${at} as at) t
  where ${activities} is not null returning id`;

/** Returns the JSON of a batch of activities; null if there are none. */
export const activitiesAsJson = (activities: readonly Activity[]): string | null =>
  activities.length === 0
    ? null
    : JSON.stringify(activities.map((a) => [a.kind, a.sourceId, a.wallet, a.gameId, String(a.amount), a.battleId ?? null]));

// If every activity is new, the JSON of the batch is $7, which the caller built. Otherwise, PostgreSQL builds the JSON from the inserted rows.
const insertActivities = statement(
  'insert_activities',
  `with batch as materialized (
     select nextval('activity_batches_id') as id, ${dayNumberOf('c.at')} as day, c.at from (select app_now() as at offset 0) c),
   inserted as (
     insert into activities (kind, source_id, wallet, game_id, amount, battle_id, day, at, batch, cause_day)
     select a.kind, a.source_id, a.wallet, a.game_id, a.amount, a.battle_id, b.day, b.at, b.id, cause_day(a.kind, a.source_id)
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::uuid[]) as a(kind, source_id, wallet, game_id, amount, battle_id), batch b
     on conflict do nothing returning kind, source_id, wallet, game_id, amount, battle_id)
   insert into activity_batches (id, day, at, size, activities)
   select b.id, b.day, b.at, i.size, case when i.size = cardinality($1::text[]) then $7::json else (
     select json_agg(json_build_array(kind, source_id, wallet, game_id, amount::text, battle_id)) from inserted) end
   from batch b, (select count(*) as size from inserted) i where i.size > 0`,
);

const activityColumns = columnArrays<Activity>(
  (a) => a.kind,
  (a) => a.sourceId,
  (a) => a.wallet,
  (a) => a.gameId,
  (a) => a.amount,
  (a) => a.battleId ?? null,
);

/**
 * Appends activities in `tx`. Precondition: `tx` also stores the cause of the activities, for example the link of an account. Skips an activity whose (kind,
 * sourceId) exists already.
 */
export async function appendActivities(tx: Tx, activities: readonly Activity[]): Promise<void> {
  if (activities.length === 0) return;
  await tx.query(insertActivities, [...activityColumns(activities), activitiesAsJson(activities)]);
}
