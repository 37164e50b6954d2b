import type { MikroORM } from '@mikro-orm/postgresql';
import { connectionOf, statement } from './sql.ts';

/** Sets the difference between `app_now()` and the system time, ms. Precondition: no other transaction writes app_clock at the same time. */
export const setAppClock = statement(
  'set_app_clock',
  `with deleted as (delete from app_clock) insert into app_clock (shift) select make_interval(secs => $1::float8 / 1000) where $1::float8 <> 0`,
);

/**
 * Locks `app_clock`, so that processes that migrate at the same time write the table one after the other. Two processes could otherwise insert two
 * rows, and `app_now()` fails when the table has two rows.
 */
const lockAppClock = { text: 'lock table app_clock in exclusive mode' };

/**
 * Shifts `app_now()` in the database, so that it returns the same time as the clock of the service's processes.
 * @param offsetMs the difference between the clock of the service's processes and the system time, ms
 */
export async function shiftDatabaseClock(orm: MikroORM, offsetMs: number): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    const db = await connectionOf(em.getKysely<unknown>());
    await db.query(lockAppClock);
    await db.query(setAppClock, [offsetMs]);
  });
}
