import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PipelinedClient } from '#platform/db/pipelined-client.ts';
import type { SentValue } from '#platform/db/prepared-query.ts';
import { statement } from '#platform/db/sql.ts';
import { asOwner } from '#test/support/database.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

let kit: TestServer;
beforeAll(async () => {
  kit = await startTestServer([], { env: { DATABASE_POOL: '2' } });
});
afterAll(() => kit?.close());

const time = statement<{ at: string }>('test_transaction_time', 'select now()::text as at');
const write = statement('test_write_setting', `insert into settings (name, version, value) values ($1, 1, '0')`);
const count = statement<{ n: number }>('test_count_settings', 'select count(*)::int as n from settings where name = $1');
const countOf = async (name: string) => (await kit.app.db.query(count, [name]))[0]?.n;

test('a transaction begins with its first statements, is one transaction, and commits', async () => {
  const times = await kit.app.tx(async (tx) => {
    const first = await Promise.all([tx.query(time), tx.query(time)]);
    await tx.query(write, ['committed']);
    return [...first, await tx.query(time)].map(([row]) => row?.at);
  });
  // PostgreSQL's now() is the time at which the transaction began.
  expect(new Set(times).size).toBe(1);
  expect(await countOf('committed')).toBe(1);
});

test('a transaction that begins with unnamed statements and statements of entities is one transaction, and commits', async () => {
  const { text } = time;
  const times = await kit.app.tx(async (tx) => {
    const own = [tx.query<{ at: string }>({ text }), tx.em.execute<{ at: string }[]>(text), tx.query(time)];
    await tx.query(write, ['mixed']);
    return (await Promise.all(own)).map(([row]) => row?.at);
  });
  expect([times.length, new Set(times).size]).toEqual([3, 1]);
  expect(await countOf('mixed')).toBe(1);
});

test('a transaction is rolled back when its work fails', async () => {
  const failing = kit.app.tx(async (tx) => {
    await tx.query(write, ['rolled-back']);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await countOf('rolled-back')).toBe(0);
});

test('the last statements of a transaction commit it: they and the commit are one round trip', async () => {
  const written = await kit.app.tx(async (tx) => {
    await tx.query(time);
    const rows = await tx.last(() => Promise.all([tx.query(write, ['last-1']), tx.query(write, ['last-2'])]));
    // Another connection sees the rows, although the work has not returned.
    expect(await countOf('last-1')).toBe(1);
    return rows.length;
  });
  expect([written, await countOf('last-2')]).toEqual([2, 1]);
});

test('when one of the last statements fails, none is committed, and the connection stays usable', async () => {
  const failing = kit.app.tx((tx) => tx.last(() => Promise.all([tx.query(write, ['last-3']), tx.query(write, ['last-3'])])));
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  expect(await countOf('last-3')).toBe(0);
  for (const _connection of [1, 2]) await kit.app.tx((tx) => tx.query(time));
});

test('when one of the last statements cannot be sent, none is committed', async () => {
  const failing = kit.app.tx((tx) =>
    tx.last(async () => {
      const fails = async () => {
        throw new Error('not sent');
      };
      await Promise.all([tx.query(write, ['last-6']), fails()]);
    }),
  );
  await expect(failing).rejects.toThrow('not sent');
  expect(await countOf('last-6')).toBe(0);
});

test('a statement after the last ones is refused and not written', async () => {
  const late = kit.app.tx(async (tx) => {
    await tx.last(() => tx.query(write, ['last-4']));
    await tx.query(write, ['too-late']);
  });
  await expect(late).rejects.toThrow('the transaction is committed');
  expect([await countOf('last-4'), await countOf('too-late')]).toEqual([1, 0]);
  const entity = kit.app.tx(async (tx) => {
    await tx.last(() => tx.query(write, ['last-5']));
    await tx.em.execute(`insert into settings (name, version, value) values ('too-late', 1, '0')`);
  });
  await expect(entity).rejects.toThrow('the transaction is committed');
  expect([await countOf('last-5'), await countOf('too-late')]).toEqual([1, 0]);
});

test('without last statements, the transaction commits as usual', async () => {
  expect(await kit.app.tx((tx) => tx.last(async () => 'value'))).toBe('value');
});

test('a transaction without statements leaves the connection usable', async () => {
  expect(await kit.app.tx(async () => 7)).toBe(7);
  await expect(kit.app.tx(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  // The pool has two connections, so these writes use all of them.
  await Promise.all(['after-1', 'after-2'].map((name) => kit.app.tx((tx) => tx.query(write, [name]))));
  expect([await countOf('after-1'), await countOf('after-2')]).toEqual([1, 1]);
});

test('a transaction that cannot begin fails, and its connection is closed', async () => {
  const client = new PipelinedClient({ connectionString: kit.app.config.database.url, pipeline: true });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  await expect(client.query('select 1/0')).rejects.toThrow('division by zero');
  // PostgreSQL rejects every query of a failed transaction until the rollback, and so also the next beginning.
  const closed = new Promise((resolve) => client.once('end', resolve));
  client.beginWithNext();
  const outcomes = await Promise.allSettled([client.query('select 1'), client.query('select 2'), run(client, 'third', 'select 3')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await closed;
  await expect(client.query('commit')).rejects.toThrow();
});

test('when a transaction cannot begin, its first statement gets the error of the beginning, which says why', async () => {
  const client = await connect();
  await client.query('commit');
  client.beginWithNext();
  await run(client, 'test_first', 'select 1');
  // Without its prepared statement the next transaction cannot begin.
  await client.query('commit; deallocate begin');
  client.beginWithNext();
  await expect(run(client, 'test_first', 'select 1')).rejects.toMatchObject({ code: '26000' });
});

const divide = statement<{ n: number }>('test_divide', 'select (6 / $1::int)::int as n');
const values = statement<{ text: string | null; at: string; list: string[] }>(
  'test_values',
  `select $1::text as text, timestamptz '2026-01-02T03:04:05Z' as at, $2::text[] as list from generate_series(1, 2)`,
);
const nothing = statement('test_no_rows', `insert into settings (name, version, value) select 'never', 1, '0' where false`);

test('statements that are started together return their rows, also when they run again on the same connection', async () => {
  const rows = await kit.app.tx(async (tx) => {
    const first = await Promise.all([tx.query(divide, [2]), tx.query(values, ['a', ['b', null]]), tx.query(nothing), tx.query(divide, [3])]);
    const second = await Promise.all([tx.query(values, [null, []]), tx.query(nothing), tx.query(divide, [6])]);
    return [...first, ...second];
  });
  const at = '2026-01-02 03:04:05+00';
  const [a, b] = [
    { text: 'a', at, list: ['b', null] },
    { text: null, at, list: [] },
  ];
  expect(rows).toEqual([[{ n: 3 }], [a, a], [], [{ n: 2 }], [b, b], [], [{ n: 1 }]]);
});

test('when a statement fails, PostgreSQL skips those that were started with it, and each gets the error of the first', async () => {
  let outcomes: PromiseSettledResult<unknown>[] = [];
  const failing = kit.app.tx(async (tx) => {
    outcomes = await Promise.allSettled([tx.query(divide, [1]), tx.query(divide, [0]), tx.query(write, ['skipped']), tx.query(divide, [2])]);
    await tx.query(divide, [3]);
  });
  await expect(failing).rejects.toThrow('division by zero');
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  for (const outcome of outcomes.slice(1)) expect(outcome).toMatchObject({ reason: { code: '22012' } });
  expect(await countOf('skipped')).toBe(0);
  // The pool has two connections, so these transactions use all of them.
  const later = await Promise.allSettled(Array.from({ length: 4 }, () => kit.app.tx((tx) => Promise.all([tx.query(divide, [0]), tx.query(time)]))));
  expect(later.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
  expect(await kit.app.tx((tx) => Promise.all([tx.query(divide, [1]), tx.query(time)]))).toMatchObject([[{ n: 6 }], [{}]]);
});

/** Connects a client that is in no pool, and begins a transaction. */
async function connect(): Promise<PipelinedClient> {
  const client = new PipelinedClient({ connectionString: kit.app.config.database.url, pipeline: true, query_timeout: 1_000 });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  return client;
}
const run = (client: PipelinedClient, name: string, text: string, sent: SentValue[] = []) => client.run({ name, text, values: sent });

test('other queries may be sent between statements that are started together', async () => {
  const client = await connect();
  const one = run(client, 'one', 'select 1 as n');
  const two = client.query('select 2 as n');
  const three = run(client, 'three', 'select 3 as n');
  const four = client.query({ name: 'four', text: 'select $1::int as n', values: [4] });
  expect([await one, (await two).rows, await three, (await four).rows].flat()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  await client.query('commit');
  await client.end();
});

test('a statement that was skipped or could not be parsed is parsed again in a later transaction', async () => {
  const client = await connect();
  const wrong = [run(client, 'no-table', 'select * from no_table'), run(client, 'late', 'select 1 as n')];
  expect((await Promise.allSettled(wrong)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await client.query('rollback');
  await client.query('begin');
  await client.query('create temporary table no_table (n int)');
  expect(await Promise.all([run(client, 'late', 'select 1 as n'), run(client, 'no-table', 'select * from no_table')])).toEqual([[{ n: 1 }], []]);
  await client.end();
});

test('when the connection is lost or a statement takes too long, all statements fail that were started together', async () => {
  const sleep = 'select pg_sleep(60)';
  const lost = await connect();
  const pid = (await lost.query('select pg_backend_pid() as pid')).rows[0].pid;
  const pending = Promise.allSettled([run(lost, 'first', 'select 1'), run(lost, 'sleep', sleep), run(lost, 'last', 'select 1')]);
  await asOwner(kit.app, (tx) => tx.query({ text: 'select pg_terminate_backend($1)' }, [pid]));
  expect((await pending).map(({ status }) => status).slice(1)).toEqual(['rejected', 'rejected']);

  const slow = await connect();
  const ended = new Promise((resolve) => slow.once('end', resolve));
  const late = await Promise.allSettled([run(slow, 'sleep', sleep), run(slow, 'last', 'select 1')]);
  expect(late.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await ended;
});
