import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readConfig } from '#config';
import { openContext } from '#context';
import { clockOffsetSec, parseArguments } from '#dev/stack/dev.ts';
import { createDatabase, testRedisUrl } from '#test/support/database.ts';
import { PRODUCTION } from '#test/support/production.ts';

const migrate = join(import.meta.dirname, '../../../src/migrate.ts');
const TEN_DAYS_SEC = 864_000;
/** Maximum time between two readings of a clock in one test, ms. */
const TOLERANCE_MS = 60_000;

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Migrates the database with an offset. @returns how far `app_now()` and the clock of a process are ahead of the system time, s */
async function offsetsAfterMigration(offsetSec: number): Promise<{ sql: number; process: number }> {
  const env = { DATABASE_URL: database.url, REDIS_URL: testRedisUrl(), CLOCK_OFFSET_SEC: String(offsetSec), LOG_LEVEL: 'fatal' };
  await promisify(execFile)(process.execPath, [migrate], { env: { PATH: process.env.PATH, ...env } });
  const app = await openContext(readConfig(env), 'test-clock');
  try {
    const [row] = await app.db.query<{ ms: number }>({ text: 'select (extract(epoch from app_now()) * 1000)::float8 as ms' });
    const secondsAhead = (ms: number) => (TOLERANCE_MS / 1_000) * Math.round((ms - Date.now()) / TOLERANCE_MS) + 0;
    return { sql: secondsAhead(row?.ms ?? 0), process: secondsAhead(app.clock.now().getTime()) };
  } finally {
    await app.close();
  }
}

test('CLOCK_OFFSET_SEC shifts app_now() and app.clock by the same offset, and a later migration without an offset resets both', async () => {
  expect(await offsetsAfterMigration(TEN_DAYS_SEC)).toEqual({ sql: TEN_DAYS_SEC, process: TEN_DAYS_SEC });
  expect(await offsetsAfterMigration(2 * TEN_DAYS_SEC)).toEqual({ sql: 2 * TEN_DAYS_SEC, process: 2 * TEN_DAYS_SEC });
  expect(await offsetsAfterMigration(0)).toEqual({ sql: 0, process: 0 });
});

test('processes that migrate at the same time leave one offset', async () => {
  const offsets = await Promise.all(Array.from({ length: 3 }, () => offsetsAfterMigration(TEN_DAYS_SEC)));
  expect(offsets).toEqual(Array.from({ length: 3 }, () => ({ sql: TEN_DAYS_SEC, process: TEN_DAYS_SEC })));
});

test('a shift of the clock takes effect at once in statements that other sessions have prepared, and in default values', async () => {
  const [owner, service] = [new pg.Client({ connectionString: database.url }), new pg.Client({ connectionString: database.serviceUrl })];
  await Promise.all([owner.connect(), service.connect()]);
  const prepared = { name: 'now', text: 'select extract(epoch from app_now() - clock_timestamp())::int as seconds, app_day() as day' };
  const ahead = async () => (await service.query<{ seconds: number; day: number }>(prepared)).rows[0];
  const shift = (seconds: number) =>
    owner.query(`insert into app_clock (shift) values (make_interval(secs => $1)) on conflict (singleton) do update set shift = excluded.shift`, [
      seconds,
    ]);
  try {
    await owner.query('delete from app_clock');
    const day = Math.floor(Date.now() / 86_400_000);
    // After five runs, PostgreSQL keeps one plan of a prepared statement.
    for (let i = 0; i < 7; i++) expect(await ahead()).toEqual({ seconds: 0, day });
    await shift(TEN_DAYS_SEC);
    expect(await ahead()).toEqual({ seconds: TEN_DAYS_SEC, day: day + 10 });
    await shift(-TEN_DAYS_SEC);
    expect(await ahead()).toEqual({ seconds: -TEN_DAYS_SEC, day: day - 10 });
    const { rows } = await service.query(
      `insert into outbox (type, payload) values ('test', '{}') returning (at - clock_timestamp())::text like '-10 days%' as past`,
    );
    expect(rows).toEqual([{ past: true }]);
    await owner.query('delete from app_clock');
    expect(await ahead()).toEqual({ seconds: 0, day });
  } finally {
    await Promise.all([owner.end(), service.end()]);
  }
});

test('PostgreSQL puts the clock into the statements of the service, so that no call of a function remains', async () => {
  const service = new pg.Client({ connectionString: database.serviceUrl });
  await service.connect();
  try {
    const { rows } = await service.query<{ 'QUERY PLAN': string }>('explain (verbose, costs off) select app_now(), app_day()');
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('clock_timestamp()');
    expect(plan).not.toContain('app_');
  } finally {
    await service.end();
  }
});

test('production refuses a clock offset', () => {
  expect(() => readConfig({ ...PRODUCTION, CLOCK_OFFSET_SEC: '1' })).toThrow('configuration: CLOCK_OFFSET_SEC must be 0 or unset in production');
});

test('bin/dev --at gives the offset to the system time in seconds and accepts only a future time on the localnet', () => {
  const now = Date.parse('2026-12-27T06:00:00Z');
  const at = '2026-12-28T06:00:00Z';
  const offset = (args: string[], env = {}) => clockOffsetSec(parseArguments(args).at, env, now);
  expect(offset(['--at', at])).toBe(86_400);
  expect(offset(['--at=2026-12-27T07:00:01+01:00'])).toBe(1);
  expect(offset([])).toBe(0);
  expect(offset([], { CLOCK_OFFSET_SEC: '-60' })).toBe(-60);
  expect(() => offset(['--at', '2026-12-26T06:00:00Z'])).toThrow('--at must be a future time');
  expect(() => offset(['--at', 'tomorrow'])).toThrow('--at must be a future time');
  expect(() => offset(['--at', at], { SOLANA_RPC_URL: 'https://rpc.test' })).toThrow('unset SOLANA_RPC_URL');
});
