import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { managed } from '#areas/registry.ts';
import { rights } from '#areas/rights.ts';
import { seed } from '#areas/seeds.ts';
import { readConfig } from '#config';
import { SERVICE_ROLE } from '#dev/stack/postgres-cluster.ts';
import { requestServers } from '#dev/test/servers.ts';
import type { App } from '#platform/app.ts';
import { openOrm } from '#platform/db/orm.ts';
import { grantRights } from '#platform/db/rights.ts';
import type { Statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

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

/** Returns the path of the socket of Redis, for tests that cut its connections. @throws when TEST_REDIS chose several servers */
export function testRedisSocket(): string {
  const url = testRedisUrl();
  if (!url.startsWith('unix:')) throw new Error('this test cuts the connections to one Redis server: run it without TEST_REDIS');
  return new URL(url).pathname;
}

const serverUrl = (): string => requested?.database ?? required('TEST_DATABASE_URL');

function urlOf(database: string): string {
  return serverUrl().replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${database}`);
}

/** Returns the URL with which the service connects: the session has only the rights of the service's role, until a test runs `set role none`. */
const serviceUrlOf = (ownerUrl: string): string => `${ownerUrl}${ownerUrl.includes('?') ? '&' : '?'}options=-c%20role%3D${SERVICE_ROLE}`;

async function withServer<T>(work: (client: pg.Client) => Promise<T>, database = 'postgres'): Promise<T> {
  const client = new pg.Client({ connectionString: urlOf(database) });
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
    '../test/support/database.ts',
    'areas/rights.ts',
    'platform/db/rights.ts',
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
      await client.query(`do $$ begin create role ${SERVICE_ROLE} login; exception when duplicate_object then null; end $$`);
      const orm = await openOrm(readConfig({ DATABASE_URL: urlOf(building) }), managed, 60_000);
      try {
        await orm.migrator.up();
        await seed(orm);
      } finally {
        await orm.close(true);
      }
      await withServer(async (owner) => {
        await grantRights(owner, SERVICE_ROLE, rights);
        // The service may use the tables that a test creates.
        await owner.query(`alter default privileges in schema public grant all on tables to ${SERVICE_ROLE}`);
      }, building);
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

/** SQL expression: a new UUIDv7, for rows of tables that are partitioned by their ids. */
export const NEW_ID = `(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
  || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`;

/** Gives the rest of a transaction the rights of the owner of the tables. */
export const becomeOwner: Statement<never> = { text: 'set local role none' };

/** Runs a transaction with the rights of the owner of the tables, for changes that the service may not make. */
export function asOwner<T>(app: Pick<App, 'tx'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return app.tx(async (tx) => {
    await tx.query(becomeOwner);
    return await work(tx);
  });
}

/** A database of one caller. */
export interface TestDatabase {
  /** URL of the role that owns the tables. */
  readonly url: string;
  /** URL with the rights of the service. */
  readonly serviceUrl: string;
  drop(): Promise<void>;
}

/** Creates a migrated and seeded database for one caller. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await withServer(async (client) => {
    const from = await template(client);
    // The default strategy since PostgreSQL 15 (wal_log) takes twice as long as file_copy.
    const { rows } = await client.query<{ chosen: boolean }>(`select current_setting('server_version_num')::int >= 150000 as chosen`);
    await client.query(`create database ${name} template ${from}${rows[0]?.chosen ? ' strategy file_copy' : ''}`);
  });
  return {
    url: urlOf(name),
    serviceUrl: serviceUrlOf(urlOf(name)),
    drop: () => withServer(async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  };
}
