import { type Activity, activitiesAsJson, appendActivities } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ScoreStatus } from './schemas.ts';

/** The HTTP error for a score that cannot count for the battle that it names. */
export interface BattleRefusal {
  readonly status: 400 | 403 | 404 | 409;
  readonly error: string;
}

/**
 * Checks the battles that submissions name. Returns the errors of the submissions that cannot count for their battles, keyed by submission id. The
 * area `battles` implements this type, because the arcade may not import that area.
 */
export type AdmitScores = (app: App, submissions: readonly Submission[]) => Promise<ReadonlyMap<string, BattleRefusal>>;

/**
 * SQL: the UTC day on which a score was first accepted, as its activity has it.
 * @param s SQL name of the row of `scores`
 */
export const acceptedDay = (s: string): string => `case when ${s}.batch is not null then ${s}.day else coalesce((
  select day from activities where source_id = ${s}.id::text and kind = 'score' and cause_day = cause_day('score', ${s}.id::text)), ${s}.day) end`;

/** SQL: the key of a battle's advisory lock. */
const lockKeyOf = (id: string) => `hashtextextended(${id}::text, 4203)`;
const lockBattles = statement('lock_battles_of_scores', `select pg_advisory_xact_lock_shared(${lockKeyOf('b')}) from unnest($1::uuid[]) as b`);

/**
 * SQL: tries to take the exclusive lock of a battle. While a transaction holds this lock, every activity that names the battle is either committed,
 * or gets a time after the end of this transaction.
 * @param id SQL expression of the battle's id
 */
export const tryLockBattle = (id: string): string => `pg_try_advisory_xact_lock(${lockKeyOf(id)})`;

/** A change of a score for which an activity is appended. */
export type ScoreChange = 'score' | 'void' | 'restore' | 'second-void';

/** The fields of a score that its activity contains. */
interface ScoreActivity {
  readonly id: string;
  readonly wallet: string;
  readonly gameId: string;
  readonly normalized: number;
  readonly battleId: string | null;
}

const activityOf = (kind: ScoreChange, { id, wallet, gameId, normalized, battleId }: ScoreActivity): Activity => ({
  ...{ kind, sourceId: id, wallet, gameId, battleId },
  amount: kind === 'score' || kind === 'restore' ? normalized : -normalized,
});

/**
 * Returns whether a new score is its own activity, so that no row of `activities` repeats it. The activity of a score of a battle has a row, because it needs a time
 * after the battle's lock.
 */
const isOwnActivity = ({ status, battleId }: { readonly status: ScoreStatus; readonly battleId: string | null }): boolean =>
  status === 'accepted' && battleId === null;
/** SQL: the same condition for the columns of a score. */
export const IS_OWN_ACTIVITY = `status = 'accepted' and battle_id is null`;

/** Returns the batch of the new scores that are their own activities, for the statement that inserts the scores. */
export const batchOfScores = (scores: readonly (ScoreActivity & { readonly status: ScoreStatus })[]): string | null =>
  activitiesAsJson(scores.filter(isOwnActivity).map((score) => activityOf('score', score)));

/**
 * Appends the activities of accepted, voided or restored scores. Takes the shared lock of each battle that the scores name before PostgreSQL sets the time of
 * the activities.
 */
export async function appendScoreActivities(tx: Tx, kind: ScoreChange, scores: readonly ScoreActivity[]): Promise<void> {
  const battles = [...new Set(scores.flatMap(({ battleId }) => battleId ?? []))];
  await Promise.all([
    battles.length > 0 && tx.query(lockBattles, [battles]),
    appendActivities(
      tx,
      scores.map((score) => activityOf(kind, score)),
    ),
  ]);
}
