import { sql } from 'kysely';
import { type ExpectedVersions, invalidateGames, loadGames } from '#areas/arcade';
import type { ActivityEvent } from '#areas/points';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { dayNumber } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { prepared, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { describeIssue, validationError } from '#platform/http/validation-errors.ts';
import { conditionsOf, QuestDefinition, type QuestPatch } from './definition.ts';
import { QuestsTable, QuestVersionsTable } from './entities.ts';
import { lockInsertions } from './insertion-lock.ts';
import { type QuestWindow, windowOf } from './windows.ts';

/** Maximum quests. The number is limited, because each batch of activities is compared with every quest. */
const MAX_QUESTS = 200;

/** A quest in its current version. */
export interface Quest {
  readonly id: string;
  readonly version: number;
  readonly definition: QuestDefinition;
  /** Time of the creation, ms since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Time at which the burn event of the quest ends or ended, ms since 1970; null without a burn event, and before its activation. */
  readonly burnEndsAt: number | null;
}

const build = queryBuilder([QuestsTable, QuestVersionsTable]);
const now = sql<string>`app_now()`;
const ms = (column: string) => sql<number>`floor(extract(epoch from ${sql.ref(column)}) * 1000)::float8`;
const burnEndsAt = sql<number | null>`(
  select floor(extract(epoch from e.ends_at) * 1000)::float8 from burn_events e
  where e.id = case when quests.definition->>'burnEventId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (quests.definition->>'burnEventId')::uuid end)`;
/** The columns of a Quest. */
export const QUEST_COLUMNS = [
  ...(['id', 'version', 'definition'] as const),
  ...([ms('created_at').as('createdAt'), ms('updated_at').as('updatedAt'), burnEndsAt.as('burnEndsAt')] as const),
] as const;
const existing = build.selectFrom('quests').select(QUEST_COLUMNS).where('deleted_at', 'is', null);
// Named, because each batch of activities runs this query. The builder writes its text, so that the columns are listed only once.
const selectQuests = prepared('select_quests', existing.orderBy('created_at').orderBy('id'));

const questNotFound = () => fail(404, 'there is no such quest');

async function findQuest(db: Queryable, id: string, { lock = false } = {}): Promise<Quest> {
  const query = existing.where('id', '=', id);
  const [quest] = await run(db, lock ? query.forNoKeyUpdate() : query);
  if (!quest) throw questNotFound();
  return quest;
}

const insertVersion = (tx: Tx, { id, version, definition }: Quest, by: string) =>
  run(tx, build.insertInto('quest_versions').values({ quest_id: id, version, definition, by }));

/** Reads all quests that are not deleted, oldest first. */
export const readQuests = (db: Queryable): Promise<Quest[]> => db.query(selectQuests);

/** Where a quest stands. scheduled: it starts later. inactive: an operator switched it off. */
export const QUEST_STATES = ['open', 'scheduled', 'ended', 'inactive'] as const;

/** Returns the state of a quest at a time, ms since 1970. */
export function questState(quest: Quest, at: number): (typeof QUEST_STATES)[number] {
  const { active, window } = quest.definition;
  if (!active) return 'inactive';
  const { burnEndsAt } = quest;
  if ((window.endsAt && at >= Date.parse(window.endsAt)) || (burnEndsAt !== null && at >= burnEndsAt)) return 'ended';
  return window.startsAt && at < Date.parse(window.startsAt) ? 'scheduled' : 'open';
}

// Counts the completions with index-only scans, which take about 10 ms per 100,000 completions.
const countCompletions = statement<{ id: string; completions: number; points: number }>(
  'count_quest_completions',
  `select k.id, c.completions, c.points from unnest($1::text[]) as k(id), lateral (
     select count(*)::float8 as completions, coalesce(sum(points), 0)::float8 as points from quest_completions where quest_id = k.id) c`,
);

/** Returns the number of completions of each quest and their points, by quest id. */
export async function readCompletionCounts(db: Queryable, ids: readonly string[]): Promise<Map<string, { completions: number; points: number }>> {
  return new Map((await db.query(countCompletions, [ids])).map(({ id, ...counts }) => [id, counts]));
}

/** Reads a quest. @throws 404 when it does not exist or is deleted */
export const readQuest = (db: Queryable, id: string): Promise<Quest> => findQuest(db, id);

/**
 * Returns whether a quest can be completed at a time.
 * @param at ms since 1970
 * @param until end of a range of times that begins with `at`; the quest must be open at a time of the range
 */
export function isOpen({ definition: { active, window }, burnEndsAt }: Quest, at: number, until = at): boolean {
  if (!active || (window.startsAt && until < Date.parse(window.startsAt))) return false;
  if (burnEndsAt !== null && at >= burnEndsAt) return false;
  return !window.endsAt || at < Date.parse(window.endsAt);
}

/**
 * Returns the time at which an activity can complete a quest, ms since 1970; null when it cannot. A burn counts if it happened before the end of its
 * event, but the service reads burns from the chain later. So a burn that the service reads after the end counts as a burn just before the end.
 */
export function completionTime(quest: Quest, { at, kind, gameId }: Pick<ActivityEvent, 'at' | 'kind' | 'gameId'>): number | null {
  const { burnEndsAt, definition } = quest;
  const isBurn = kind === 'burn' && gameId === definition.burnEventId && conditionsOf(definition.requirement).some(({ type }) => type === 'burned');
  const isLateBurn = isBurn && burnEndsAt !== null && at >= burnEndsAt;
  const time = isLateBurn ? burnEndsAt - 1 : at;
  return isOpen(quest, time) ? time : null;
}

/** Cache of the results of `questWindow` per Quest object, because one batch needs the same few windows thousands of times. */
const windows = new WeakMap<Quest, Map<number, QuestWindow>>();

/** Returns the window of a quest (the days that count for one completion) that contains a UTC day. */
export function questWindow(quest: Quest, day: number): QuestWindow {
  const known = windows.get(quest) ?? new Map<number, QuestWindow>();
  windows.set(quest, known);
  const found = known.get(day) ?? makeWindow(quest, day);
  known.set(day, found);
  return found;
}

function makeWindow({ definition: { repeat, window }, createdAt }: Quest, day: number): QuestWindow {
  const start = dayNumber(new Date(window.startsAt ?? createdAt));
  // `endsAt` is exclusive. If `endsAt` is midnight, the last day of the quest is the day before.
  const end = window.endsAt ? dayNumber(new Date(Date.parse(window.endsAt) - 1)) : null;
  return windowOf(repeat, start, end, day);
}

/** Checks the games of a requirement. @throws 400 when a condition names a game that does not exist */
export async function checkGames(app: App, { requirement }: Pick<QuestDefinition, 'requirement'>): Promise<void> {
  const named = conditionsOf(requirement).flatMap((condition) => ('gameId' in condition && condition.gameId ? [condition.gameId] : []));
  const isKnown = async () => {
    const games = await loadGames(app);
    return named.every((id) => games.has(id));
  };
  if (await isKnown()) return;
  // Reads the registry of games again, because another process may have registered the game just now.
  invalidateGames(app);
  if (!(await isKnown())) throw fail(400, 'requirement must name games of this arcade as gameId');
}

/**
 * Creates a quest.
 * @throws 409 when the id was used before, or `MAX_QUESTS` quests exist
 */
export async function createQuest(tx: Tx, id: string | undefined, definition: QuestDefinition, by: string): Promise<Quest> {
  await tx.query(lockInsertions);
  if ((await readQuests(tx)).length >= MAX_QUESTS) throw fail(409, `there are ${MAX_QUESTS} quests already; delete one first`);
  const inserted = build
    .insertInto('quests')
    .values({ id: id ?? newId(), version: 1, definition })
    .onConflict((conflict) => conflict.doNothing())
    .returning(QUEST_COLUMNS);
  const [quest] = await run(tx, inserted);
  if (!quest) throw fail(409, 'id must be new; the id of a deleted quest cannot be used again');
  await insertVersion(tx, quest, by);
  return quest;
}

/**
 * Changes a quest. Stores a new version if the patch changes a field. Wallets keep the points that they earned.
 * @throws 404 when the quest does not exist; 412 when `expected` does not include the quest's version; 400 when the changed definition is invalid
 */
export async function changeQuest(tx: Tx, id: string, patch: QuestPatch, expected: ExpectedVersions, by: string): Promise<Quest> {
  const quest = await findQuest(tx, id, { lock: true });
  if (Array.isArray(expected) && !expected.includes(quest.version)) throw fail(412, 'If-Match must be the current ETag');
  const whole = QuestDefinition.safeParse({ ...quest.definition, ...patch }, { error: describeIssue });
  if (!whole.success) throw validationError('body', whole.error);
  if (canonicalize(whole.data) === canonicalize(quest.definition)) return quest;
  const changes = { version: quest.version + 1, definition: whole.data, updated_at: now };
  const [changed] = await run(tx, build.updateTable('quests').set(changes).where('id', '=', id).returning(QUEST_COLUMNS));
  if (!changed) throw questNotFound();
  await insertVersion(tx, changed, by);
  return changed;
}

/**
 * Marks a quest as deleted. Wallets keep the points that they earned.
 * @throws 404 when the quest does not exist or is deleted
 */
export async function deleteQuest(tx: Tx, id: string): Promise<void> {
  await findQuest(tx, id, { lock: true });
  await run(tx, build.updateTable('quests').set({ deleted_at: now }).where('id', '=', id));
}

/** A version of a quest. `by` is the name of the admin token that created it. */
export interface QuestVersion {
  readonly version: number;
  readonly definition: QuestDefinition;
  readonly by: string;
  /** Time at which this version was created, ms since 1970. */
  readonly at: number;
  readonly completions: number;
  readonly points: number;
}

// Counts the completions with an index-only scan, which takes about 10 ms per 100,000 completions.
const selectVersions = statement<QuestVersion>(
  'select_quest_versions',
  `select v.version, v.definition, v.by, floor(extract(epoch from v.at) * 1000)::float8 as at, coalesce(c.completions, 0)::float8 as completions,
          coalesce(c.points, 0)::float8 as points
   from quest_versions v left join (
     select version, count(*) as completions, sum(points) as points from quest_completions where quest_id = $1 group by version) c using (version)
   where v.quest_id = $1 order by v.version desc limit 100`,
);

/**
 * Reads the newest 100 versions of a quest, newest first. Each version has the number of its completions and the points that these completions gave.
 */
export const readVersions = (db: Queryable, id: string): Promise<QuestVersion[]> => db.query(selectVersions, [id]);
