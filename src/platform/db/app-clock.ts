import type { MikroORM } from '@mikro-orm/postgresql';
import { runInTransaction } from './connection.ts';
import { statement } from './sql.ts';

/** Sets the difference between `app_now()` and the system time, ms. Without a difference, the table app_clock is empty. */
export const setAppClock = statement(
  'set_app_clock',
  `with deleted as (delete from app_clock where $1::float8 = 0)
   insert into app_clock (shift) select make_interval(secs => $1::float8 / 1000) where $1::float8 <> 0
   on conflict (singleton) do update set shift = excluded.shift`,
);

/**
 * Shifts `app_now()` in the database, so that it returns the same time as the clock of the service's processes.
 * @param offsetMs the difference between the clock of the service's processes and the system time, ms
 */
export async function shiftDatabaseClock(orm: MikroORM, offsetMs: number): Promise<void> {
  await runInTransaction(orm, (db) => db.query(setAppClock, [offsetMs]));
}
