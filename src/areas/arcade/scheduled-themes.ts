import { sql } from 'kysely';
import { fail, HttpError } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './build.ts';
import { mergeTheme } from './theme.ts';

/** A change of the theme that waits for its start, or that could not be applied. */
export interface ScheduledTheme {
  id: string;
  /** A JSON merge patch of the theme. */
  patch: Record<string, unknown>;
  /** Time at which the patch is applied, ISO 8601 in UTC. */
  startsAt: string;
  /** Name of the admin token. */
  by: string;
  /** Reason why the patch could not be applied; null while the change waits. */
  error: string | null;
}

/** Maximum changes that wait or have failed. */
const MAX_SCHEDULED = 100;

const COLUMNS = ['id', sql<ScheduledTheme['patch']>`patch`.as('patch'), isoInstant('starts_at').as('startsAt'), 'by', 'error'] as const;
const lockSchedule = statement('lock_scheduled_themes', `select pg_advisory_xact_lock(hashtext('scheduled_themes'))`);
/** SQL: the changes whose start has come. */
export const DUE_THEMES = 'select id::text as id, patch from scheduled_themes where error is null and starts_at <= (select app_now())';
const selectDue = statement<{ id: string; patch: Record<string, unknown> }>(
  'select_due_theme',
  `${DUE_THEMES} order by starts_at, id limit 1 for update`,
);

/** Reads all scheduled changes, next start first. */
export const readScheduledThemes = (db: Queryable): Promise<ScheduledTheme[]> =>
  run(db, build.selectFrom('scheduled_themes').select(COLUMNS).orderBy('starts_at').orderBy('id').limit(MAX_SCHEDULED));

/**
 * Schedules a change of the theme.
 * @throws 409 when there are `MAX_SCHEDULED` changes already
 */
export async function scheduleTheme(
  tx: Tx,
  { patch, startsAt }: { patch: Record<string, unknown>; startsAt: string },
  by: string,
): Promise<ScheduledTheme> {
  await tx.query(lockSchedule);
  if ((await readScheduledThemes(tx)).length >= MAX_SCHEDULED) throw fail(409, `${MAX_SCHEDULED} changes are scheduled already; cancel one first`);
  const values = { id: newId(), patch, starts_at: startsAt, by };
  const [scheduled] = await run(tx, build.insertInto('scheduled_themes').values(values).returning(COLUMNS));
  if (!scheduled) throw new Error('the change of the theme was not stored');
  return scheduled;
}

/**
 * Cancels a scheduled change, or removes a change that could not be applied.
 * @throws 404 when there is no such change, for example because it is applied
 */
export async function cancelTheme(tx: Tx, id: string): Promise<void> {
  const cancelled = await run(tx, build.deleteFrom('scheduled_themes').where('id', '=', id).returning('id'));
  if (cancelled.length === 0) throw fail(404, 'there is no such scheduled change');
}

/**
 * Applies the changes whose start has come, in the order of their starts, each once. A change that the theme does not allow (because the merged theme
 * would be too large) is kept with the reason.
 */
export async function applyDueThemes(app: App): Promise<void> {
  while (await app.tx(applyNext));
}

async function applyNext(tx: Tx): Promise<boolean> {
  const [due] = await tx.query(selectDue);
  if (!due) return false;
  const error = await mergeTheme(tx, due.patch, null).then(
    () => null,
    (reason: unknown) => {
      if (reason instanceof HttpError) return reason.message;
      throw reason;
    },
  );
  if (error === null) await run(tx, build.deleteFrom('scheduled_themes').where('id', '=', due.id));
  else await run(tx, build.updateTable('scheduled_themes').set({ error }).where('id', '=', due.id));
  return true;
}
