import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '#platform/app.ts';
import { migrations } from './migrations/index.ts';
import { type Queryable, statement } from './sql.ts';

const selectApplied = statement<{ name: string }>('applied_migrations', 'select name from migrations order by id');

/** The differences between the migrations of this release and those that the database has. */
export interface MigrationState {
  readonly applied: number;
  readonly missing: readonly string[];
  /** Migrations that this release does not know, because a newer release has applied them. */
  readonly unknown: readonly string[];
}

/** Compares the migrations of this release with those of the database. @throws when PostgreSQL does not answer */
export async function readMigrationState(db: Queryable): Promise<MigrationState> {
  const rows = await db.query(selectApplied).catch((error: unknown) => {
    // SQLSTATE 42P01: the table of migrations does not exist yet.
    if (Error.isError(error) && 'code' in error && error.code === '42P01') return [];
    throw error;
  });
  const applied = new Set(rows.map(({ name }) => name));
  const known = new Set(migrations.map(({ name }) => name));
  return { applied: applied.size, missing: [...known.difference(applied)], unknown: [...applied.difference(known)] };
}

/** Interval of the checks of `untilMigrated`, ms. */
const POLL_MS = 1_000;

/**
 * Waits until the database has every migration of this release. Logs once why it waits. Also waits while PostgreSQL does not answer.
 * @param signal ends the wait
 * @throws when the signal is aborted
 */
export async function untilMigrated({ db, log }: Pick<App, 'db' | 'log'>, signal: AbortSignal): Promise<void> {
  let logged = '';
  for (;;) {
    const missing = await readMigrationState(db).then(
      (state) => state.missing,
      () => null,
    );
    if (missing?.length === 0) return;
    const reason = missing === null ? 'PostgreSQL does not answer' : 'the database lacks migrations of this release';
    if (reason !== logged) log.warn({ missing }, `${reason}; the worker waits and takes no jobs until then`);
    logged = reason;
    await sleep(POLL_MS, undefined, { signal });
  }
}
