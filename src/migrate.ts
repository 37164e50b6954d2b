import { managed } from './areas/registry.ts';
import { seed, seedInitialQuests } from './areas/seeds.ts';
import { readConfig } from './config.ts';
import { JOB_TIMEOUTS } from './context.ts';
import { shiftDatabaseClock } from './platform/db/app-clock.ts';
import { openOrm } from './platform/db/orm.ts';
import { openLog } from './platform/observability/log.ts';

/** Applies the migrations, fills empty tables with seed data, and exits. Several processes may run it at the same time. */
const config = readConfig();
const log = openLog(config, 'migrate');
const orm = await openOrm(config, managed, JOB_TIMEOUTS.sqlMs);
try {
  const applied = await orm.migrator.up();
  await shiftDatabaseClock(orm, config.clockOffsetMs);
  const seeded = [...(await seed(orm)), ...(await seedInitialQuests(orm))];
  log.info({ applied: applied.map((m) => m.name), seeded }, 'database is up to date');
} finally {
  await orm.close(true);
}
