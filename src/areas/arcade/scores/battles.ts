import { appendActivities } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Why a score may not count for the battle that it names. */
export interface Inadmissible {
  readonly status: 400 | 403 | 404 | 409;
  readonly error: string;
}

/** Tells, by the id of the submission, which scores may not count for the battles that they name: the arcade knows nothing of battles. */
export type Admit = (app: App, submissions: readonly Submission[]) => Promise<ReadonlyMap<string, Inadmissible>>;

/** SQL of the key of a battle's advisory lock. */
const keyOf = (id: string) => `hashtextextended(${id}::text, 4203)`;
const lockBattles = statement('lock_battles_of_scores', `select pg_advisory_xact_lock_shared(${keyOf('b')}) from unnest($1::uuid[]) as b`);

/**
 * SQL: whether this transaction has a battle for itself. Then every activity that names it and whose time is before is committed, and no other
 * one is given a time until this transaction ends.
 * @param id the column
 */
export const tryBattleAlone = (id: string): string => `pg_try_advisory_xact_lock(${keyOf(id)})`;

/** A score, as its activity tells of it. */
interface Told {
  readonly id: string;
  readonly wallet: string;
  readonly gameId: string;
  readonly normalized: number;
  readonly battleId: string | null;
}

/** Appends the activities of scores that were accepted, or taken back. The lock of a battle that one names is held before the activities get their time. */
export async function appendScores(tx: Tx, kind: 'score' | 'void', scores: readonly Told[]): Promise<void> {
  const battles = [...new Set(scores.flatMap(({ battleId }) => battleId ?? []))];
  await Promise.all([
    battles.length > 0 && tx.query(lockBattles, [battles]),
    appendActivities(
      tx,
      scores.map(({ id, wallet, gameId, normalized, battleId }) => ({
        ...{ kind, sourceId: id, wallet, gameId, battleId },
        amount: kind === 'score' ? normalized : -normalized,
      })),
    ),
  ]);
}
