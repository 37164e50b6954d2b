import { parseArgs } from 'node:util';
import pg from 'pg';
import { managed } from './areas/registry.ts';
import { seed, seedInitialQuests } from './areas/seeds.ts';
import { readConfig } from './config.ts';
import { JOB_TIMEOUTS } from './context.ts';
import { shiftDatabaseClock } from './platform/db/app-clock.ts';
import { openOrm } from './platform/db/orm.ts';
import { openLog } from './platform/observability/log.ts';

/**
 * Applies the migrations, fills empty tables with seed data, and exits. With `--down NAME`, reverts the migration NAME instead, which must be the
 * newest that is applied. Several processes may run at the same time: an advisory lock serializes them.
 */
const { down } = parseArgs({ options: { down: { type: 'string' } } }).values;
const config = readConfig();
const log = openLog(config, 'migrate');
const lock = new pg.Client({ connectionString: config.database.url });
const orm = await openOrm(config, managed, JOB_TIMEOUTS.sqlMs);
try {
  await lock.connect();
  await lock.query(`select pg_advisory_lock(hashtext('coinop-migrate'))`);
  await (down === undefined ? migrate() : revert(down));
} finally {
  await orm.close(true);
  await lock.end();
}

async function migrate(): Promise<void> {
  const applied = await orm.migrator.up();
  await shiftDatabaseClock(orm, config.clockOffsetMs);
  const seeded = [...(await seed(orm)), ...(await seedInitialQuests(orm))];
  log.info({ applied: applied.map((m) => m.name), seeded }, 'database is up to date');
}

/** @throws when the newest applied migration has another name */
async function revert(name: string): Promise<void> {
  const newest = (await orm.migrator.getExecuted()).at(-1)?.name;
  if (newest !== name) throw new Error(`--down must name the newest migration, which is ${newest ?? 'none'}, not ${name}`);
  await orm.migrator.down();
  log.info({ reverted: name }, 'the migration is reverted');
}
