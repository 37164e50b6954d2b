import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { QuestsTable } from './entities.ts';
import { questChanged, questPublished, questWithdrawn } from './events.ts';
import { isOpen, QUEST_COLUMNS, type Quest } from './rows.ts';

/** A quest with the version that the last event about it announced; null when no client was told of the quest, or the last event withdrew it. */
interface AnnouncedQuest extends Quest {
  readonly publishedVersion: number | null;
  readonly deleted: boolean;
  /** Time of the query, ms since 1970. */
  readonly now: number;
}

/** SQL that returns rows while quests exist that may have to be announced: see `announceDueQuests`. */
export const ANNOUNCED_QUESTS = 'select 1 from quests where deleted_at is null or published_version is not null';
/** SQL that returns rows while quests exist. */
export const QUESTS = 'select 1 from quests where deleted_at is null';

const build = queryBuilder([QuestsTable]);
const announced = build
  .selectFrom('quests')
  .select([
    ...QUEST_COLUMNS,
    'published_version as publishedVersion',
    sql<boolean>`deleted_at is not null`.as('deleted'),
    sql<number>`floor(extract(epoch from app_now()) * 1000)::float8`.as('now'),
  ])
  .where(sql<boolean>`deleted_at is null or published_version is not null`);
// Named, because a job runs this query every few seconds while there are quests.
const selectAnnounced = statement<AnnouncedQuest>('select_announced_quests', announced.compile().sql);

/** Returns the version to announce; null while `GET /quests` does not list the quest. */
const versionOf = (quest: AnnouncedQuest): number | null => (!quest.deleted && isOpen(quest, quest.now) ? quest.version : null);
const isStale = (quest: AnnouncedQuest): boolean => versionOf(quest) !== quest.publishedVersion;

/**
 * Emits `quest_published`, `quest_changed` or `quest_withdrawn` for each of some quests whose last event is out of date. Locks the quests, so that
 * concurrent calls emit each event once.
 */
export async function announceQuests(tx: Tx, ids: readonly string[]): Promise<void> {
  const quests = await run(tx, announced.where('id', 'in', ids).orderBy('id').forNoKeyUpdate());
  for (const quest of quests.filter(isStale)) {
    const version = versionOf(quest);
    const { title, category, points, task, repeat, burnEventId } = quest.definition;
    if (version === null) tx.emit(questWithdrawn, { questId: quest.id });
    else
      tx.emit(quest.publishedVersion === null ? questPublished : questChanged, {
        ...{ questId: quest.id, version, title, category, points, task, repeat, burnEventId },
      });
    await run(tx, build.updateTable('quests').set({ published_version: version }).where('id', '=', quest.id));
  }
}

const readStale = async (db: Queryable): Promise<string[]> => (await db.query(selectAnnounced)).filter(isStale).map(({ id }) => id);

/** Announces the quests whose window or burn event began or ended since their last event. Several processes may call it concurrently. */
export async function announceDueQuests(app: App): Promise<void> {
  const ids = await readStale(app.db);
  if (ids.length > 0) await app.tx((tx) => announceQuests(tx, ids));
}
