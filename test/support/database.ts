import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { managed } from '#areas/registry.ts';
import { seed } from '#areas/seeds.ts';
import { readConfig } from '#config';
import { requestServers } from '#dev/test/servers.ts';
import { openOrm } from '#platform/db/orm.ts';

const root = join(import.meta.dirname, '../../src');

/** `bin/test` starts PostgreSQL and Redis when the first test file imports this module. */
const { TEST_SERVERS: socket } = process.env;
const requested = socket ? await requestServers(socket) : undefined;

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with bin/test`);
  return value;
}

/** Returns the URL of the Redis that all tests share. Each application uses its own prefix. */
export const testRedisUrl = (): string => requested?.redis ?? required('TEST_REDIS_URL');

const serverUrl = (): string => requested?.database ?? required('TEST_DATABASE_URL');

function urlOf(database: string): string {
  return serverUrl().replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${database}`);
}

async function withServer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: urlOf('postgres') });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Returns a hash of the migrations and seeds that create a new database. */
function schemaHash(): string {
  const hash = createHash('sha256');
  const folder = join(root, 'platform/db/migrations');
  for (const file of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, file)));
  const seeds = [
    'areas/seeds.ts',
    'areas/arcade/seeds.ts',
    'lib/replay/metering.ts',
    'lib/replay/simulation.ts',
    '../games/block-cascade/block-cascade.wasm',
  ];
  for (const file of seeds) hash.update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

/** Creates a migrated and seeded template database if this schema has none. Test databases are copies of it. @returns its name */
async function template(client: pg.Client): Promise<string> {
  const name = `coinop_template_${schemaHash()}`;
  await client.query(`select pg_advisory_lock(hashtext('coinop-template'))`);
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) {
      const building = `${name}_building`;
      await client.query(`drop database if exists ${building} with (force)`);
      await client.query(`create database ${building}`);
      const orm = await openOrm(readConfig({ DATABASE_URL: urlOf(building) }), managed, 60_000);
      try {
        await orm.migrator.up();
        await seed(orm);
      } finally {
        await orm.close(true);
      }
      await client.query(`alter database ${building} rename to ${name}`);
    }
  } finally {
    await client.query(`select pg_advisory_unlock(hashtext('coinop-template'))`);
  }
  return name;
}

/** Creates a database without tables for one caller. */
export async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await withServer(async (client) => void (await client.query(`create database ${name}`)));
  return { url: urlOf(name), drop: () => withServer(async (client) => void (await client.query(`drop database if exists ${name} with (force)`))) };
}

/** Creates a migrated and seeded database for one caller. */
export async function createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await withServer(async (client) => {
    const from = await template(client);
    // The default strategy since PostgreSQL 15 (wal_log) takes twice as long as file_copy.
    const { rows } = await client.query<{ chosen: boolean }>(`select current_setting('server_version_num')::int >= 150000 as chosen`);
    await client.query(`create database ${name} template ${from}${rows[0]?.chosen ? ' strategy file_copy' : ''}`);
  });
  return {
    url: urlOf(name),
    drop: () => withServer(async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  };
}
