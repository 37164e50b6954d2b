import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { platformTables } from '#platform/db/entities.ts';
import { isoInstant, placeholder, prepared, queryBuilder, run } from '#platform/db/query-builder.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

const build = queryBuilder(platformTables);

let kit: TestServer;
beforeAll(async () => {
  kit = await startTestServer([]);
});
afterAll(() => kit?.close());

const HASH = Buffer.from('request');
const insertKey = (scope: string) => build.insertInto('idempotency_keys').values({ scope: Buffer.from(scope), request_hash: HASH });

test('A built query runs in its transaction, and its values have the types that the entity declares', async () => {
  await kit.app.tx(async (tx) => {
    expect(await run(tx, insertKey('one'))).toEqual([]);
    const query = build
      .selectFrom('idempotency_keys')
      .select(['scope', 'status', isoInstant('created_at').as('at')])
      .where('request_hash', '=', HASH);
    expect(await run(tx, query)).toEqual([{ scope: Buffer.from('one'), status: null, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) }]);
    expect(await run(kit.app.db, query)).toEqual([]);
  });
  const [counter] = await run(kit.app.db, build.selectFrom('outbox_counter').select(['publication', 'singleton']));
  expect(counter).toEqual({ publication: expect.any(String), singleton: true });
});

test('A built query and an SQL fragment take their values as parameters', async () => {
  const name = `'); drop table idempotency_keys; --`;
  await kit.app.tx((tx) => run(tx, insertKey(name)));
  const rows = await run(
    kit.app.db,
    build.selectFrom('idempotency_keys').select(sql<string>`encode(${'x'}::text::bytea, 'hex')`.as('x')).where('scope', '=', Buffer.from(name)),
  );
  expect(rows).toEqual([{ x: '78' }]);
});

test('A query that a caller executes on the builder itself is refused', async () => {
  await expect(insertKey('two').execute()).rejects.toThrow('a query builder has no connection; pass the query to run()');
});

test('The values of enumerated columns and booleans stand in the SQL text, so that partial indexes can be used; other values are parameters', () => {
  const query = build
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('state', 'in', ['received', 'failed'])
    .where('id', '=', `o'clock`)
    .where(sql<boolean>`true`, '=', true);
  const { sql: text, parameters } = query.compile();
  expect(text).toContain(`"state" in ('received', 'failed')`);
  expect(text).toContain('= true');
  expect(parameters).toEqual([`o'clock`]);
});

test('A condition with an empty list matches no row, and a negated one matches every row', async () => {
  await kit.app.tx((tx) => run(tx, insertKey('list')));
  const keys = build.selectFrom('idempotency_keys').select('scope');
  expect(await run(kit.app.db, keys.where('scope', 'in', []))).toEqual([]);
  expect(await run(kit.app.db, keys.where('scope', 'not in', []))).toContainEqual({ scope: Buffer.from('list') });
});

test('A prepared query sends its values by position, and a query that contains a value cannot be prepared', async () => {
  const keys = build.selectFrom('idempotency_keys').select('scope');
  const select = prepared('test_select_scope', keys.where('scope', '=', placeholder<Buffer>(1)));
  await kit.app.tx((tx) => run(tx, insertKey('prepared')));
  expect(await kit.app.db.query(select, [Buffer.from('prepared')])).toEqual([{ scope: Buffer.from('prepared') }]);
  expect(() => prepared('test_with_value', keys.where('scope', '=', HASH))).toThrow('the query test_with_value contains values; use placeholders');
});
