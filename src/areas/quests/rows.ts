import { type Expected, forgetGames, loadGames } from '#areas/arcade';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { dayNumber } from '#lib/periods.ts';
import { Slug } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, type Statement, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { explain, refuse } from '#platform/http/validation-errors.ts';
import { conditionsOf, QuestDefinition, type QuestPatch } from './definition.ts';
import { type QuestWindow, windowOf } from './windows.ts';

/** Quests that may be there at once: each batch of activities is held against all of them. */
const MOST_QUESTS = 200;

/** A quest as it is now. */
export interface Quest {
  readonly id: string;
  readonly version: number;
  readonly definition: QuestDefinition;
  /** ms since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

const COLUMNS = `id, version, definition, floor(extract(epoch from created_at) * 1000)::float8 as "createdAt",
  floor(extract(epoch from updated_at) * 1000)::float8 as "updatedAt"`;
const selectQuests = statement<Quest>('select_quests', `select ${COLUMNS} from quests where deleted_at is null order by created_at, id`);
const selectQuest = statement<Quest>('select_quest', `select ${COLUMNS} from quests where id = $1 and deleted_at is null`);
const lockQuest = statement<Quest>('lock_quest', `select ${COLUMNS} from quests where id = $1 and deleted_at is null for no key update`);
const lockQuests = statement('lock_quests', `select pg_advisory_xact_lock(hashtext('coinop-quests'))`);
const insertQuest = statement<Quest>(
  'insert_quest',
  `insert into quests (id, version, definition) values ($1, 1, $2) on conflict do nothing returning ${COLUMNS}`,
);
const updateQuest = statement<Quest>(
  'update_quest',
  `update quests set version = version + 1, definition = $2, updated_at = app_now() where id = $1 returning ${COLUMNS}`,
);
const insertVersion = statement('insert_quest_version', 'insert into quest_versions (quest_id, version, definition, by) values ($1, $2, $3, $4)');
const removeQuest = statement('delete_quest', 'update quests set deleted_at = app_now() where id = $1');

const unknown = () => fail(404, 'there is no such quest');
/** Any text may come as an id; what cannot be one is not asked for. */
const find = async (db: Queryable, select: Statement<Quest>, id: string): Promise<Quest> => {
  const [quest] = Slug.safeParse(id).success ? await db.query(select, [id]) : [];
  if (!quest) throw unknown();
  return quest;
};

/** Every quest that is not deleted, oldest first. */
export const readQuests = (db: Queryable): Promise<Quest[]> => db.query(selectQuests);

/** @throws 404 where there is none, or it was deleted */
export const readQuest = (db: Queryable, id: string): Promise<Quest> => find(db, selectQuest, id);

/** Whether a quest can be completed by what happens at an instant (ms since 1970). */
export function isOpen({ definition: { active, window } }: Quest, at: number): boolean {
  if (!active || (window.startsAt && at < Date.parse(window.startsAt))) return false;
  return !window.endsAt || at < Date.parse(window.endsAt);
}

const windows = new WeakMap<Quest, Map<number, QuestWindow>>();

/** The window of a quest that a UTC day belongs to. Thousands are asked for at once: each is made once. */
export function questWindow(quest: Quest, day: number): QuestWindow {
  const known = windows.get(quest) ?? new Map<number, QuestWindow>();
  windows.set(quest, known);
  const found = known.get(day) ?? makeWindow(quest, day);
  known.set(day, found);
  return found;
}

function makeWindow({ definition: { repeat, window }, createdAt }: Quest, day: number): QuestWindow {
  const start = dayNumber(new Date(window.startsAt ?? createdAt));
  // It ends before endsAt: at midnight, the day before is the last.
  const end = window.endsAt ? dayNumber(new Date(Date.parse(window.endsAt) - 1)) : null;
  return windowOf(repeat, start, end, day);
}

/** @throws 400 where a condition names a game that is not there */
export async function checkGames(app: App, { requirement }: Pick<QuestDefinition, 'requirement'>): Promise<void> {
  const named = conditionsOf(requirement).flatMap((condition) => ('gameId' in condition && condition.gameId ? [condition.gameId] : []));
  const isKnown = async () => {
    const games = await loadGames(app);
    return named.every((id) => games.has(id));
  };
  if (await isKnown()) return;
  // Perhaps it has just been registered elsewhere.
  forgetGames(app);
  if (!(await isKnown())) throw fail(400, 'requirement must name games of this arcade as gameId');
}

/**
 * Creates a quest.
 * @throws 409 where the id was used before, or there are too many quests
 */
export async function createQuest(tx: Tx, id: string | undefined, definition: QuestDefinition, by: string): Promise<Quest> {
  await tx.query(lockQuests);
  if ((await readQuests(tx)).length >= MOST_QUESTS) throw fail(409, `there are ${MOST_QUESTS} quests, delete one first`);
  const text = JSON.stringify(definition);
  const [quest] = await tx.query(insertQuest, [id ?? newId(), text]);
  if (!quest) throw fail(409, 'id must not be that of another quest, also of one that was deleted');
  await tx.query(insertVersion, [quest.id, quest.version, text, by]);
  return quest;
}

/**
 * Changes what a quest is from now on: a new version, unless nothing is different. What was earned stays.
 * @throws 404 no such quest; 412 it is at no version that is expected; 400 where the whole does not hold together
 */
export async function changeQuest(tx: Tx, id: string, patch: QuestPatch, expected: Expected, by: string): Promise<Quest> {
  const quest = await find(tx, lockQuest, id);
  if (Array.isArray(expected) && !expected.includes(quest.version)) throw fail(412, 'If-Match must be the present ETag');
  const whole = QuestDefinition.safeParse({ ...quest.definition, ...patch }, { error: explain });
  if (!whole.success) throw refuse('body', whole.error);
  if (canonicalize(whole.data) === canonicalize(quest.definition)) return quest;
  const text = JSON.stringify(whole.data);
  const [changed] = await tx.query(updateQuest, [id, text]);
  if (!changed) throw unknown();
  await tx.query(insertVersion, [id, changed.version, text, by]);
  return changed;
}

/**
 * Takes a quest off every list. What it gave stays.
 * @throws 404 where there is none (any more)
 */
export async function deleteQuest(tx: Tx, id: string): Promise<void> {
  const quest = await find(tx, lockQuest, id);
  await tx.query(removeQuest, [quest.id]);
}

/** A version of a quest, and who made it. */
export interface QuestVersion {
  readonly version: number;
  readonly definition: QuestDefinition;
  readonly by: string;
  /** ms since 1970. */
  readonly at: number;
  readonly completions: number;
  readonly points: number;
}

// Counted by the index: some 10 ms per 100,000 completions.
const selectVersions = statement<QuestVersion>(
  'select_quest_versions',
  `select v.version, v.definition, v.by, floor(extract(epoch from v.at) * 1000)::float8 as at, coalesce(c.completions, 0)::float8 as completions,
          coalesce(c.points, 0)::float8 as points
   from quest_versions v left join (
     select version, count(*) as completions, sum(points) as points from quest_completions where quest_id = $1 group by version) c using (version)
   where v.quest_id = $1 order by v.version desc limit 100`,
);

/** The newest hundred versions of a quest, newest first, with what was completed under each. */
export const readVersions = (db: Queryable, id: string): Promise<QuestVersion[]> => db.query(selectVersions, [id]);
