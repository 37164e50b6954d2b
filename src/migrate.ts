import { parseArgs } from 'node:util';
import pg from 'pg';
import { managed } from './areas/registry.ts';
import { rights } from './areas/rights.ts';
import { seed, seedInitialQuests } from './areas/seeds.ts';
import { readConfig } from './config.ts';
import { JOB_TIMEOUTS } from './context.ts';
import { shiftDatabaseClock } from './platform/db/app-clock.ts';
import { openOrm } from './platform/db/orm.ts';
import { grantRights, readRole } from './platform/db/rights.ts';
import { findPrimary } from './platform/db/servers.ts';
import { openLog } from './platform/observability/log.ts';

/**
 * Applies the migrations, gives the role of `DATABASE_URL` its rights, fills empty tables with seed data, and exits. With `--down NAME`, reverts the
 * migration NAME instead, which must be the newest that is applied. Several processes may run at the same time: an advisory lock serializes them.
 */
const { down } = parseArgs({ options: { down: { type: 'string' } } }).values;
const config = readConfig();
const log = openLog(config, 'migrate');
const url = config.database.migrationUrl;
const owner = new pg.Client({ connectionString: await findPrimary(url) });
const orm = await openOrm({ ...config, database: { ...config.database, url } }, managed, JOB_TIMEOUTS.sqlMs);
try {
  // Reads the role before the migrations, so that a wrong DATABASE_URL changes nothing.
  const serviceRole = await readRole(config.database.url).catch((error: unknown) => {
    throw new Error(`DATABASE_URL: its role cannot connect: ${error instanceof Error ? error.message : error}`);
  });
  await owner.connect();
  await owner.query(`select pg_advisory_lock(hashtext('coinop-migrate'))`);
  const applied = await (down === undefined ? orm.migrator.up() : revert(down));
  // Grants the rights at once, because processes that wait for the migrations begin to use the new tables. The owner needs no rights on its own tables.
  if (serviceRole !== (await readRole(url))) await grantRights(owner, serviceRole, rights);
  if (applied) await fill(applied.map(({ name }) => name));
} finally {
  await orm.close(true);
  await owner.end();
}

async function fill(applied: readonly string[]): Promise<void> {
  await shiftDatabaseClock(orm, config.clockOffsetMs);
  const seeded = [...(await seed(orm)), ...(await seedInitialQuests(orm))];
  log.info({ applied, seeded }, 'database is up to date');
}

/** @throws when the newest applied migration has another name */
async function revert(name: string): Promise<null> {
  const newest = (await orm.migrator.getExecuted()).at(-1)?.name;
  if (newest !== name) throw new Error(`--down must name the newest migration, which is ${newest ?? 'none'}, not ${name}`);
  await orm.migrator.down();
  log.info({ reverted: name }, 'the migration is reverted');
  return null;
}
