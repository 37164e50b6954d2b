import { columnArrays } from '#platform/db/column-arrays.ts';
import { statement } from '#platform/db/sql.ts';
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
 * SQL: whether the score of an activity is voided at present.
 * @param sourceId SQL expression for the id of the score
 */
export const isVoided = (sourceId: string): string =>
  `(select coalesce(sum(case v.kind when 'restore' then -1 else 1 end), 0) > 0 from activities v
    where v.source_id = ${sourceId} and v.kind in ('void', 'restore', 'second-void') and v.cause_day = cause_day('void', ${sourceId}))`;

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
 * SQL: inserts activities, and stores them as JSON in the row of their batch. If every activity is new, this JSON is $7, which the caller built. Otherwise,
 * PostgreSQL builds the JSON from the inserted rows.
 * @param onConflict the clause `on conflict`, or an empty text if all activities are new
 */
const insertBatch = (onConflict: string) => `
  with batch as materialized (
     select nextval('activity_batches_id') as id, floor(extract(epoch from c.at) / 86400)::int as day, c.at from (select app_now() as at offset 0) c),
   inserted as (
     insert into activities (kind, source_id, wallet, game_id, amount, battle_id, day, at, batch, cause_day)
     select a.kind, a.source_id, a.wallet, a.game_id, a.amount, a.battle_id, b.day, b.at, b.id, cause_day(a.kind, a.source_id)
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::uuid[]) as a(kind, source_id, wallet, game_id, amount, battle_id), batch b
     ${onConflict} returning kind, source_id, wallet, game_id, amount, battle_id)
   insert into activity_batches (id, day, at, size, activities)
   select b.id, b.day, b.at, i.size, case when i.size = cardinality($1::text[]) then $7::json else (
     select json_agg(json_build_array(kind, source_id, wallet, game_id, amount::text, battle_id)) from inserted) end
   from batch b, (select count(*) as size from inserted) i where i.size > 0`;

const insertActivities = statement('insert_activities', insertBatch('on conflict do nothing'));
// Without the clause, PostgreSQL does not look for an equal activity before each insertion.
const insertNewActivities = statement('insert_new_activities', insertBatch(''));

const activityColumns = columnArrays<Activity>(
  (a) => a.kind,
  (a) => a.sourceId,
  (a) => a.wallet,
  (a) => a.gameId,
  (a) => a.amount,
  (a) => a.battleId ?? null,
);
const asJson = (a: Activity) => [a.kind, a.sourceId, a.wallet, a.gameId, String(a.amount), a.battleId ?? null];

/**
 * Appends activities in `tx`. Precondition: `tx` also stores the cause of the activities, for example the score. Skips an activity whose (kind,
 * sourceId) exists already.
 * @param areNew true if `tx` also inserts the causes, so that none of the activities exists yet. The transaction fails if one exists
 */
export async function appendActivities(tx: Tx, activities: readonly Activity[], { areNew = false } = {}): Promise<void> {
  if (activities.length === 0) return;
  await tx.query(areNew ? insertNewActivities : insertActivities, [...activityColumns(activities), JSON.stringify(activities.map(asJson))]);
}
