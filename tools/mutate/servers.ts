import { closeSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startPostgres } from '#dev/stack/postgres.ts';
import { startRedis } from '#dev/stack/redis.ts';
import type { Supervisor } from '#dev/stack/supervisor.ts';
import { openTemporaryFolder } from '#dev/stack/temporary.ts';

/** Messages of PostgreSQL about statements that are invalid SQL: a mutant with such a statement is not counted. */
const INVALID =
  /ERROR: {2}(syntax error|.* must appear in the GROUP BY clause|(operator|function|column|type) .* does not exist|.* is ambiguous|there is no unique or exclusion constraint|cannot .*\bFOR (UPDATE|SHARE)|.* types .* cannot be matched|invalid reference to FROM-clause|SELECT DISTINCT|aggregate functions are not allowed)/;

/** The private PostgreSQL and Redis of one sequence of test runs. */
export interface Servers {
  /** A folder for the files of one test run. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Returns whether PostgreSQL has reported invalid SQL since the last call. */
  reportedInvalidSql(): boolean;
  /** Deletes the databases and keys that ended test runs left. Keeps the template database. */
  clean(): Promise<void>;
}

export async function startServers(stack: Supervisor): Promise<Servers> {
  const temporary = await openTemporaryFolder('coinop-mutate-');
  stack.onStop(() => temporary.remove());
  const postgresFolder = join(temporary.path, 'postgres');
  const [postgres, redis] = await Promise.all([
    stack.start(() => startPostgres({ folder: postgresFolder, durable: false })),
    stack.start(() => startRedis({ folder: join(temporary.path, 'redis'), durable: false })),
  ]);
  const successes = join(temporary.path, 'successes');
  mkdirSync(successes);
  let readUntil = 0;
  return {
    folder: temporary.path,
    env: { TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis.url, TEST_SUCCESSES: successes },
    reportedInvalidSql() {
      const { text, end } = readFrom(join(postgresFolder, 'log'), readUntil);
      readUntil = end;
      return INVALID.test(text);
    },
    async clean() {
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      try {
        const { rows } = await client.query<{ name: string }>(`select datname as name from pg_database where datname like 'test\\_%'`);
        for (const { name } of rows) await client.query(`drop database if exists "${name}" with (force)`);
      } finally {
        await client.end();
      }
      const connection = new Redis(redis.url);
      await connection.flushall();
      await connection.quit();
    },
  };
}

/** Reads a file from an offset to its end. */
function readFrom(file: string, offset: number): { text: string; end: number } {
  const handle = openSync(file, 'r');
  try {
    const end = fstatSync(handle).size;
    const buffer = Buffer.alloc(Math.max(end - offset, 0));
    readSync(handle, buffer, 0, buffer.length, offset);
    return { text: buffer.toString('utf8'), end };
  } finally {
    closeSync(handle);
  }
}
