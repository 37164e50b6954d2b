import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { boardKeys } from '#areas/points';
import { eventStreamKey } from '#platform/events/redis-stream.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createHistory, type History } from '#test/support/areas/history.ts';
import { runChecks } from '#tools/audit/audit.ts';
import { type AuditContext, type Check, type Differences, setMomentSql } from '#tools/audit/check.ts';
import { CHECKS } from '#tools/audit/checks.ts';
import { GUARDS } from '#tools/audit/guards.ts';
import { findOrphans, labelOf, OTHER_COLUMNS, REFERENCES } from '#tools/audit/references.ts';
import { MISSING_ROWS, MONEY_CORRUPTIONS } from './money-corruptions.ts';
import { PLAY_CORRUPTIONS } from './play-corruptions.ts';

const RECHECK = { attempts: 2, intervalMs: 10 };
const CORRUPTIONS = [...PLAY_CORRUPTIONS, ...MONEY_CORRUPTIONS];
const SCOPE = { days: 8, epochs: 3, rounds: 20, sample: 500, all: false };

let t: History;
let db: pg.Client;
let audit: AuditContext;
beforeAll(async () => {
  t = await createHistory();
  db = new pg.Client({ connectionString: t.env.DATABASE_URL });
  await db.connect();
  await db.query('set role none');
  const { config, redis, chain, storage } = t.app;
  const query = async <Row>({ text }: { text: string }, values: readonly unknown[] = []) =>
    (await db.query<Row & pg.QueryResultRow>({ text, values: [...values] })).rows;
  // Compares all wallets, because some checks compare only an eighth of them by default.
  audit = { config, scope: { ...SCOPE, all: true }, redis, chain, storage, recheck: RECHECK, db: { query } };
}, 240_000);
afterAll(async () => {
  await db?.end();
  await t?.close();
});

function checkOf(name: string): Check {
  const check = CHECKS.find((one) => one.name === name);
  if (!check) throw new Error(`unknown check ${name}`);
  return check;
}

/** Runs a check on a corrupted database, in a transaction that never commits. */
async function corrupted<T>(text: string, check: () => Promise<T>): Promise<T> {
  await db.query('begin');
  try {
    await db.query(`set local session_replication_role = replica; ${setMomentSql(audit.scope)}; ${text}`);
    return await check();
  } finally {
    await db.query('rollback');
  }
}

const differs = (name: string, text: string): Promise<Differences> => corrupted(text, () => checkOf(name).run(audit));

/** Runs bin/audit. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<{ code: number; out: string; err: string }> {
  const root = join(import.meta.dirname, '../../..');
  const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') };
  return new Promise((resolve) => {
    execFile(join(root, 'bin/audit'), args, { env: { ...process.env, ...compiled, ...t.env, ...env } }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

test('all checks pass on a system with data of every kind', async () => {
  for (const scope of [SCOPE, { ...SCOPE, all: true }]) {
    const results = await runChecks(t.app.config, CHECKS, { recheck: RECHECK, scope });
    expect(results.filter(({ total, failure }) => total > 0 || failure !== null)).toEqual([]);
    expect(results.map(({ check }) => check.name).sort()).toEqual(CHECKS.map(({ name }) => name).sort());
  }
});

test('every check has a corruption that it must find', () => {
  const covered = new Set(CORRUPTIONS.map(([name]) => name));
  expect(CHECKS.map(({ name }) => name).filter((name) => !covered.has(name))).toEqual(['orphans']);
});

test.each(CORRUPTIONS)('the check %s finds: %s', async (name, text, sentence) => {
  const { total, listed } = await differs(name, text);
  expect(listed.find((what) => sentence.test(what)) ?? listed.join('\n')).toMatch(sentence);
  expect(total).toBeGreaterThanOrEqual(listed.length);
});

test.each(REFERENCES.map((reference) => [labelOf(reference), reference] as const))('dangling references are found: %s', async (name, reference) => {
  const { from, to, columns: named, key = 'id', where = 'true' } = reference;
  const [columns, keys] = [[named].flat(), [key].flat()];
  const isNamed = columns.map((column) => `${column} is not null`).join(' and ');
  const same = keys.map((column, i) => `t.${column} = r.${column.replace(/\W.*/, '')}_${i}`).join(' and ');
  const asKeys = columns.map((column, i) => `${column} as ${(keys[i] ?? '').replace(/\W.*/, '')}_${i}`).join(', ');
  // If the key may be in several tables, the reference is changed; otherwise the referenced row is deleted.
  const text = to.startsWith('(')
    ? `update ${from} r set ${(columns[0] ?? '').replace('r.', '')} = ${name.includes('cause') ? 'gen_random_uuid()' : 'gen_random_uuid()::text'} where ${where}`
    : `delete from ${to} t using (select ${asKeys} from ${from} r where (${where}) and ${isNamed} limit 1) r where ${same}`;
  const { listed } = await corrupted(`${MISSING_ROWS[name] ?? ''}; ${text}`, () => findOrphans(audit.db, [reference]));
  expect(listed[0]).toMatch(/ is referenced, but missing$/);
  expect(listed[0]?.startsWith(`${name}: `)).toBe(true);
  expect((await findOrphans(audit.db, [reference])).listed).toEqual([]);
});

test('every column that looks like a reference is compared or explained, and the list of triggers is complete', async () => {
  const named = new Set(
    REFERENCES.flatMap(({ from, columns }) =>
      [columns].flat().flatMap((name) => [...name.matchAll(/\br\.(\w+)/g)].map(([, column]) => `${from}.${column}`)),
    ),
  );
  const columns = await sql<{ name: string }>(
    t.app,
    `select c.relname || '.' || a.attname as name
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped join pg_type y on y.oid = a.atttypid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'migrations'
       and (y.typname in ('wallet', 'uuid')
         or a.attname ~ '^(game_id|game_version|rules_version|source_id|cause_id|subject|epoch|lane|batch|board|code|mint|payments|possessed_by)$' and y.typname <> 'wallet')
       and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any(k.conkey))
       and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u') and k.conkey = array[a.attnum])
       and not exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and i.indkey::text = a.attnum::text)
     order by 1`,
  );
  expect(columns.map(({ name }) => name).filter((name) => !named.has(name) && !(name in OTHER_COLUMNS))).toEqual([]);
  const triggers = await sql<{ name: string }>(
    t.app,
    `select tgrelid::regclass || ' ' || tgname as name from pg_trigger where not tgisinternal and tgparentid = 0 order by 1`,
  );
  expect(triggers.map(({ name }) => name)).toEqual(GUARDS.map((guard) => guard.join(' ')).sort());
});

test('the boards check finds wrong, missing and additional values in Redis', async () => {
  const { redis, config } = t.app;
  const [row] = await sql<{ wallet: string; day: number }>(
    t.app,
    `select wallet, (select app_day()) as day from standings where board = 'global' and mode = 'regular' and total > 0 limit 1`,
  );
  const { wallet = '', day = 0 } = row ?? {};
  const keys = boardKeys(config.redis.prefix, 'global');
  const found = async () => (await checkOf('boards').run(audit)).listed.join('\n');
  const restore = async (key: string, change: () => Promise<unknown>) => {
    const before = (await redis.dumpBuffer(key)) ?? Buffer.alloc(0);
    await change();
    const sentences = await found();
    await redis.restore(key, 0, before, 'REPLACE');
    return sentences;
  };
  const all = keys.span('all', 0);
  expect(await restore(all, () => redis.zadd(all, 12_345, wallet))).toMatch(
    new RegExp(`^global: ${wallet} has .* in the database and \\d+/12345/.* in Redis`),
  );
  expect(await restore(all, () => redis.zrem(all, wallet))).toMatch(new RegExp(`^global: ${wallet} has .* in the database and \\d+/-/.* in Redis`));
  expect(await restore(all, () => redis.zadd(all, 1, 'nobody'))).toMatch(/^global: nobody has nothing in the database and -\/1\/-\/-\/-\/- in Redis/);
  expect(await restore(keys.span('day', day), () => redis.zadd(keys.span('day', day), 7, wallet))).toMatch(new RegExp(`^global: ${wallet} has `));
  expect(await restore(keys.versions, () => redis.hincrbyfloat(keys.versions, wallet, 1))).toMatch(new RegExp(`^global: ${wallet} has `));
  expect(await restore(keys.ready, () => redis.set(keys.ready, 'another run id'))).toBe('global: the board in Redis is incomplete');
  expect(await found()).toBe('');
});

test('the feed check finds a gap in the event stream and a missing stream', async () => {
  const { redis, config } = t.app;
  const key = eventStreamKey(config);
  const before = (await redis.dumpBuffer(key)) ?? Buffer.alloc(0);
  const entries = await redis.xrange(key, '-', '+');
  const found = async () => (await checkOf('feed').run(audit)).listed;
  await redis.xdel(key, entries[3]?.[0] ?? '');
  expect(await found()).toEqual([expect.stringMatching(/^the event stream continues with \S+ of epoch \w+ after \S+ of \w+$/)]);
  await redis.del(key);
  expect(await found()).toEqual(['the event stream is missing']);
  await redis.restore(key, 0, before, 'REPLACE');
  expect(await found()).toEqual([]);
});

test('a check counts all differences and lists the first 20', async () => {
  const text = `insert into activity_failures (consumer, kind, source_id, error) select 'quests', 'score', i::text, 'it broke' from generate_series(1, 50) i`;
  expect(await differs('activity-failures', text)).toMatchObject({ total: 50, listed: { length: 20 } });
});

test('the exit status is 0 without differences, 1 with differences, and 2 when a check could not run', async () => {
  const fine = await run(['--json']);
  const shown = JSON.parse(fine.out) as { ok: boolean; checks: { name: string; status: string }[] };
  expect([fine.code, shown.ok, new Set(shown.checks.map(({ status }) => status))]).toEqual([0, true, new Set(['fine'])]);
  expect(fine.err).toMatch(/checks in [\d.]+ s: 0 differ, 0 warn, 0 could not run/);

  await sql(t.app, `insert into activity_failures (consumer, kind, source_id, error) values ('quests', 'score', 'one', 'it broke')`);
  const [wrong, down, both, unknown, help] = await Promise.all([
    run(['--only', 'activity-failures,standings']),
    run(['--only', 'standings,boards,feed'], { REDIS_URL: 'redis://127.0.0.1:1' }),
    run(['--only', 'activity-failures,signatures'], { SOLANA_RPC_URL: 'http://127.0.0.1:1' }),
    run(['--only', 'nonsense']),
    run(['--help']),
  ]);
  await sql(t.app, 'delete from activity_failures');
  expect([wrong.code, wrong.out]).toEqual([
    1,
    expect.stringMatching(/^fine +standings .*\ndiffers +activity-failures .*\n +quests could not process score one: it broke\n2 checks in/),
  ]);
  expect([down.code, down.out]).toEqual([
    2,
    expect.stringMatching(/^fine +standings .*\nunchecked boards .*\n +the check could not run: .*\nunchecked feed/),
  ]);
  expect([both.code, both.out]).toEqual([
    1,
    expect.stringMatching(/unchecked signatures .*\n +the check could not run: the RPC node does not answer/),
  ]);
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringMatching(/^unknown check nonsense; --list prints all names\n\nusage: bin\/audit/)]);
  expect([help.code, help.out]).toEqual([0, expect.stringMatching(/^usage: bin\/audit/)]);
});

test('every check fails when the database is unavailable', async () => {
  const results = await runChecks(
    { ...t.app.config, database: { ...t.app.config.database, url: 'postgresql://127.0.0.1:1/none' } },
    CHECKS.slice(0, 5),
  );
  expect(results.map(({ failure }) => failure)).toEqual(Array(5).fill(expect.stringMatching(/ECONNREFUSED/)));
});

test('a statement timeout fails only its own check', async () => {
  const slow: Check = {
    name: 'slow',
    invariant: 'nothing',
    run: async ({ db }) => ({ total: 0, listed: [String(await db.query({ text: 'select pg_sleep(5)' }))] }),
  };
  const results = await runChecks(t.app.config, [slow, checkOf('standings')], { statementMs: 300, scope: SCOPE });
  expect(results.map(({ failure }) => failure)).toEqual([expect.stringMatching(/statement timeout/), null]);
});

test('checks cannot write to the database', async () => {
  const writer: Check = {
    name: 'writer',
    invariant: 'nothing',
    run: async ({ db }) => ({ total: 0, listed: [String(await db.query({ text: 'delete from activity_failures' }))] }),
  };
  const results = await runChecks(t.app.config, [writer, { ...writer, live: true }]);
  expect(results.map(({ failure }) => failure)).toEqual(Array(2).fill('cannot execute DELETE in a read-only transaction'));
});
