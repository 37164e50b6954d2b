import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { entities } from '#areas/registry.ts';
import { readConfig } from '#config';
import { daysBefore, newId } from '#lib/ids.ts';
import { openOrm } from '#platform/db/orm.ts';
import { analyzeNewPartitions, makePartitions } from '#platform/db/partitions.ts';
import { instant, milliseconds } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { asOwner, createDatabase } from '#test/support/database.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const TABLES = ['activities', 'ledger', 'plays', 'score_plays', 'scores'];

/** Returns the months of the partitions of a table, oldest first. */
async function monthsOf(table: string): Promise<string[]> {
  const rows = await sql<{ month: string }>(
    t.app,
    `select right(inhrelid::regclass::text, 7) as month from pg_inherits where inhparent = $1::regclass and inhrelid::regclass::text !~ '_first$' order by 1`,
    [table],
  );
  return rows.map(({ month }) => month);
}

/** Returns the first day of the month that is some months after the present one, as \`YYYY-MM-DD\`. */
function monthAfter(months: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1)).toISOString().slice(0, 10);
}
const nameOf = (month: string) => month.slice(0, 7).replace('-', '_');

/** Appends a ledger row whose cause is a quest of one day, unless it exists. */
const insertRow = (tx: Pick<Tx, 'query'>, day: string) =>
  tx.query(
    {
      text: `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
             values ('a', 'regular', 'quest', 'quest', 'quest', $1, 5, true, app_day(), app_now(), cause_day('quest', $1)) on conflict do nothing`,
    },
    [`a-quest:${day}`],
  );

describe('The partitions of the tables that grow with each play', () => {
  test('exist for the present month and the next three months, and the service makes missing ones once', async () => {
    for (const table of TABLES) expect(await monthsOf(table)).toEqual([0, 1, 2, 3].map((n) => nameOf(monthAfter(n))));
    expect(await makePartitions(t.app.db)).toBe(0);
    await asOwner(t.app, (tx) => tx.query({ text: `drop table ${TABLES.map((table) => `${table}_${nameOf(monthAfter(3))}`).join(', ')}` }));
    const made = await Promise.all(Array.from({ length: 4 }, () => makePartitions(t.app.db)));
    expect(made.toSorted()).toEqual([0, 0, 0, TABLES.length]);
    for (const table of TABLES) expect(await monthsOf(table)).toHaveLength(4);
  });

  test('have the indexes, checks and storage options of their table', async () => {
    const rows = await sql<{ options: string; indexes: number; triggers: number }>(
      t.app,
      `select array_to_string(s.reloptions, ',') as options, (select count(*)::int from pg_index where indrelid = s.oid) as indexes,
         (select count(*)::int from pg_trigger where tgrelid = l.oid) as triggers
       from pg_class s, pg_class l where s.relname = $1 and l.relname = $2`,
      [`scores_${nameOf(monthAfter(1))}`, `ledger_${nameOf(monthAfter(1))}`],
    );
    expect(rows).toEqual([{ options: 'fillfactor=90', indexes: 6, triggers: 1 }]);
  });

  test('of months before the oldest one, and of months more than two years ahead, cannot be made', async () => {
    expect(await sql(t.app, 'select make_partitions($1, $2) as made', [monthAfter(-5), monthAfter(1)])).toEqual([{ made: 0 }]);
    await expect(sql(t.app, 'select make_partitions(null, $1)', [monthAfter(30)])).rejects.toThrow('partitions can be made for the next two years');
  });

  test('that are missing are made when a transaction needs one: concurrent transactions are answered 503, and succeed when they are repeated', async () => {
    await asOwner(t.app, (tx) => tx.query({ text: `drop table ledger_${nameOf(monthAfter(2))}, ledger_${nameOf(monthAfter(3))}` }));
    const day = monthAfter(2);
    const attempts = await Promise.allSettled(Array.from({ length: 4 }, () => t.app.tx((tx) => insertRow(tx, day))));
    // A transaction that begins late finds the new partition.
    const failed = attempts.filter(({ status }) => status === 'rejected');
    expect(failed.length).toBeGreaterThan(0);
    for (const attempt of failed) expect(attempt).toMatchObject({ reason: { status: 503 } });
    await t.app.tx((tx) => insertRow(tx, day));
    expect(await sql(t.app, 'select tableoid::regclass::text as name from ledger where source_id = $1', [`a-quest:${day}`])).toEqual([
      { name: `ledger_${nameOf(day)}` },
    ]);
  });

  test('of a new month are read by their indexes soon after its first rows, also by statements that were planned while it was empty', async () => {
    const partition = `plays_${nameOf(monthAfter(0))}`;
    // Autovacuum of any partition would make PostgreSQL plan the statement again.
    await asOwner(t.app, async (tx) => {
      await tx.query({
        text: `do $$ declare part regclass; begin
                 for part in select inhrelid from pg_inherits where inhparent = 'plays'::regclass loop
                   execute format('alter table %s set (autovacuum_enabled = off)', part);
                 end loop;
               end $$`,
      });
      await tx.query({ text: 'analyze plays' });
    });
    await t.app.tx(async (tx) => {
      await tx.query({ text: `set local plan_cache_mode = force_generic_plan` });
      await tx.query({ text: `prepare find_play (uuid) as select wallet from plays where id = $1` });
      const plan = async () =>
        JSON.stringify(await tx.query({ text: `explain (costs off) execute find_play ('${newId()}')` })).match(
          /(\w+) Scan[^"]* on plays_\d+_\d+/,
        )?.[1];
      expect(await plan()).toBe('Seq');
      await tx.query({
        text: `insert into plays (id, wallet, game_id, started_at)
               select overlay('${newId()}' placing lpad(n::text, 12, '0') from 25)::uuid, 'a', 'g', app_now() from generate_series(1, 5000) n`,
      });
      expect(await plan()).toBe('Seq');
      await analyzeNewPartitions(tx);
      expect(await plan()).toBe('Index');
      await tx.query({ text: 'deallocate find_play' });
    });
    expect(await sql(t.app, 'select relpages > 0 as analyzed from pg_class where relname = $1', [partition])).toEqual([{ analyzed: true }]);
    expect(await sql(t.app, 'select analyze_new_partitions() as analyzed')).toEqual([{ analyzed: 0 }]);
  });

  test('that are detached are never made again, and a row for their month is refused with 409', async () => {
    const oldest = nameOf(monthAfter(0));
    await asOwner(t.app, (tx) => tx.query({ text: `alter table ledger detach partition ledger_${oldest}` }));
    await expect(t.app.tx((tx) => insertRow(tx, monthAfter(0)))).rejects.toMatchObject({
      status: 409,
      message: `the data of ${monthAfter(0).slice(0, 7)} is in the archive, and cannot be changed or extended`,
    });
    await asOwner(t.app, (tx) => tx.query({ text: `alter table ledger_${oldest} rename to elsewhere` }));
    await expect(t.app.tx((tx) => insertRow(tx, monthAfter(0)))).rejects.toMatchObject({ status: 409 });
    expect(await sql(t.app, 'select make_partitions($1, $2) as made', [monthAfter(0), monthAfter(3)])).toEqual([{ made: 0 }]);
    expect(await monthsOf('ledger')).not.toContain(oldest);
    // A cause without a time has a partition of its own, which stays.
    await t.app.tx((tx) => insertRow(tx, 'once'));
  });

  test('do not change the error of another violated check', async () => {
    const text = `insert into players (wallet, earned) values ('a', -1)`;
    await expect(t.app.tx((tx) => tx.query({ text }))).rejects.toMatchObject({ code: '23514', constraint: 'players_earned_check' });
  });
});

test('the migration turns full tables into partitions without losing a row, a unique key or a right, and its reversal restores them', async () => {
  const database = await createDatabase();
  const orm = await openOrm(readConfig({ DATABASE_URL: database.url }), entities, 60_000);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await orm.migrator.down({ to: '0058-service-role' });
    const [playId, scoreId, day] = [newId(), newId(), monthAfter(0)];
    const insertScore = `insert into scores (id, wallet, game_id, game_version, play_id, idempotency_key, body_hash, score, normalized, points, personal_best, status, mode, day, at)
      values ($1, 'a', 'g', 1, $2, $3, '', 1, 1, 0, false, 'accepted', 'regular', 1, now())`;
    await client.query(`insert into plays (id, wallet, game_id, started_at) values ($1, 'a', 'g', now())`, [playId]);
    await client.query(insertScore, [scoreId, playId, 'key']);
    await insertRow({ query: async (statement, values) => (await client.query(statement.text, [...(values ?? [])])).rows }, day);
    await orm.migrator.up();

    const places = `select tableoid::regclass::text as name from plays union all select tableoid::regclass::text from scores
      union all select tableoid::regclass::text from score_plays union all select tableoid::regclass::text from ledger`;
    expect((await client.query(places)).rows.map(({ name }) => name)).toEqual(['plays_first', 'scores_first', 'score_plays_first', 'ledger_first']);
    await expect(client.query(insertScore, [newId(), playId, null])).rejects.toThrow('score_plays');
    await expect(client.query(insertScore, [newId(), null, 'key'])).rejects.toThrow('score_keys');
    const { rows: rights } = await client.query(
      `select has_table_privilege('coinop_service', 'scores', 'update') as keeps, has_table_privilege('coinop_service', 'scores_first', 'select') as reads`,
    );
    expect(rights).toEqual([{ keeps: true, reads: false }]);

    await client.query(insertScore, [newId(), newId(), null]);
    await orm.migrator.down({ to: '0058-service-role' });
    expect((await client.query('select count(*)::int as n from scores')).rows).toEqual([{ n: 2 }]);
    await expect(client.query(insertScore, [newId(), playId, null])).rejects.toThrow('scores_play');
    await expect(client.query('update ledger set points = 1')).rejects.toThrow('append-only');
  } finally {
    await client.end();
    await orm.close(true);
    await database.drop();
  }
});

test('the first id of an earlier day is the same in JavaScript and in SQL', async () => {
  for (const [id, days] of [
    [newId(), 1],
    ['0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', 3],
  ] as const)
    expect(await sql(t.app, 'select days_before($1, $2) as id', [id, days])).toEqual([{ id: daysBefore(id, days) }]);
});

test('a time in milliseconds is the time in ISO 8601, without its microseconds', async () => {
  const rows = await sql<{ ms: number; iso: string }>(
    t.app,
    `select ${milliseconds('at')} as ms, ${instant('at')} as iso
     from generate_series(0, 2999) n, lateral (select timestamptz '2026-11-23 10:00:00Z' + n * interval '333 microseconds' as at) a`,
  );
  expect(rows.filter(({ ms, iso }) => new Date(ms).toISOString() !== iso)).toEqual([]);
});
