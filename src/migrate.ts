import { entities } from './areas/registry.ts';
import { seed, seedOpening } from './areas/seeds.ts';
import { readConfig } from './config.ts';
import { JOB_TIMEOUTS } from './context.ts';
import { openOrm } from './platform/db/orm.ts';
import { openLog } from './platform/observability/log.ts';

/** Migrates the database and fills empty tables, then ends. Safe to run from several processes at once. */
const config = readConfig();
const log = openLog(config, 'migrate');
const orm = await openOrm(config, entities, JOB_TIMEOUTS.sqlMs);
try {
  const applied = await orm.migrator.up();
  const seeded = [...(await seed(orm)), ...(await seedOpening(orm))];
  log.info({ applied: applied.map((m) => m.name), seeded }, 'database is up to date');
} finally {
  await orm.close(true);
}
