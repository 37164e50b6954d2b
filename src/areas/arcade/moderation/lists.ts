import { type SqlBool, sql } from 'kysely';
import { isOfOpenMonth } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { build } from '../build.ts';
import { detail, readDetails } from '../scores/moderation.ts';
import type { ModeratedScore, ScoreFilter } from './schemas.ts';

// Reads the table of appeals directly, because the arcade may not import that area.
const selectAppeals = statement<{ scoreId: string } & NonNullable<ModeratedScore['appeal']>>(
  'select_score_appeals',
  `select distinct on (a.case_id) a.case_id::text as "scoreId", a.id::text as "appealId", a.text, a.status, ${instant('a.at')} as at
   from appeals a where a.case_id = any($1::uuid[]) and a.kind = 'score' order by a.case_id, a.id desc`,
);

/** Builds the condition that a score matches a filter. */
function matches({ status, wallet, gameId, reason, before }: ScoreFilter) {
  const conditions = [sql`status = ${sql.lit(status)}`];
  if (wallet !== undefined) conditions.push(sql`wallet = ${wallet}`);
  if (gameId !== undefined) conditions.push(sql`game_id = ${gameId}`);
  if (before !== undefined) conditions.push(sql`at < ${before}::timestamptz`);
  if (reason !== undefined) conditions.push(sql`exists (select from unnest(reasons) r where strpos(lower(r), lower(${reason})) > 0)`);
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`;
}

/**
 * Reads a page of the scores that match a filter, with the newest appeal about each: held scores oldest first, other scores newest first.
 * @returns the page, and the number of all matching scores
 * @throws 400 for accepted scores without a wallet, because a game has millions of them
 */
export async function listScores(
  db: Queryable,
  filter: ScoreFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ scores: ModeratedScore[]; total: number }> {
  if (filter.status === 'accepted' && filter.wallet === undefined) throw fail(400, 'wallet must be given with the status accepted');
  const order = filter.status === 'held' ? 'asc' : 'desc';
  const page = detail.where(matches(filter)).orderBy('at', order).orderBy('id', order).limit(limit).offset(offset);
  const [scores, [count]] = await Promise.all([
    readDetails(db, page),
    run(db, build.selectFrom('scores').select(sql<number>`count(*)::int`.as('n')).where(matches(filter))),
  ]);
  const appeals = scores.length === 0 ? [] : await db.query(selectAppeals, [scores.map(({ scoreId }) => scoreId)]);
  const appealOf = new Map(appeals.map(({ scoreId, ...appeal }) => [scoreId, appeal]));
  return { scores: scores.map((score) => ({ ...score, appeal: appealOf.get(score.scoreId) ?? null })), total: count?.n ?? 0 };
}

/** A score that a decision in bulk concerns. */
export interface ListedScore {
  readonly id: string;
  readonly wallet: string;
  readonly gameId: string;
}

const isOpen = sql<SqlBool>`${sql.raw(isOfOpenMonth('scores.id'))}`;

/** Finds the scores of some ids, or the oldest scores of open months that match a filter. */
export async function findScores(db: Queryable, which: readonly string[] | ScoreFilter, limit: number): Promise<ListedScore[]> {
  const scores = build.selectFrom('scores').select(['id', 'wallet', 'game_id as gameId']);
  const chosen = 'status' in which ? scores.where(matches(which)).where(isOpen) : scores.where('id', 'in', [...which]);
  return await run(db, chosen.orderBy('at').orderBy('id').limit(limit));
}

/** Counts the scores of open months that match a filter. */
export async function countUndecided(db: Queryable, filter: ScoreFilter): Promise<number> {
  const [count] = await run(db, build.selectFrom('scores').select(sql<number>`count(*)::int`.as('n')).where(matches(filter)).where(isOpen));
  return count?.n ?? 0;
}
