import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readIdentity } from '#areas/payouts';
import { selectFailover } from '#areas/payouts/reconciliation/rows.ts';
import { type Postgres, startPostgres } from '#dev/stack/postgres.ts';
import { openTemporaryFolder, type TemporaryFolder } from '#dev/stack/temporary.ts';
import { CURRENT_TIMELINE, findPrimary, findStandby } from '#platform/db/servers.ts';
import { statement } from '#platform/db/sql.ts';
import { toHttpError } from '#platform/http/errors.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';

let folder: TemporaryFolder;
let primary: Postgres;
let standby: Postgres;
let kit: TestServer;
beforeAll(async () => {
  folder = await openTemporaryFolder('coinop-failover-');
  primary = await startPostgres({ folder: join(folder.path, 'postgres'), durable: true });
  standby = await startPostgres({ folder: join(folder.path, 'standby'), durable: true, standbyOf: primary });
  const [first, second] = [standby.url, primary.url].map((url) => /@([^/]*)\//.exec(url)?.[1]);
  const both = `postgresql://coinop@${first},${second}/coinop`;
  kit = await startTestServer(undefined, { env: { DATABASE_URL: both, DATABASE_READ_URL: both, READ_MAX_LAG_MS: '500' } });
  await kit.app.orm.migrator.up();
  await kit.app.tx((tx) => tx.query({ text: 'create table notes (n int)' }));
}, 60_000);
afterAll(async () => {
  await kit?.close();
  await standby?.stop();
  await primary?.stop();
  folder?.remove();
});

const add = (n: number) => kit.app.tx((tx) => tx.query({ text: 'insert into notes values ($1)' }, [n]));
const hasNote = statement<{ found: boolean; standby: boolean }>(
  'test_has_note',
  'select exists (select 1 from notes where n = $1) as found, pg_is_in_recovery() as standby',
);
const readNote = async (n: number) => (await kit.app.reads.query(hasNote, [n]))[0];
const readiness = async () => (await (await fetch(`${kit.url}/readyz`)).json()) as unknown;

async function run(server: Postgres, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const sleepShortly = statement<{ timeline: number }>('test_sleep', `select ${CURRENT_TIMELINE} as timeline from pg_sleep(0.2)`);

test('a URL with several servers leads to the one that accepts writes, wherever it stands in the list', async () => {
  const { url } = kit.app.config.database;
  expect([await findPrimary(url), await findStandby(url)]).toEqual([primary.url, standby.url]);
  await add(1);
  expect((await kit.app.db.query(hasNote, [1]))[0]).toEqual({ found: true, standby: false });
});

test('reads that may be seconds old go to the standby, and to the primary while the standby is further behind', async () => {
  await retryUntilPass(async () => expect(await readNote(1)).toEqual({ found: true, standby: true }));
  expect(await readiness()).toMatchObject({ status: 'ok', reads: 'standby' });

  await run(standby, 'select pg_wal_replay_pause()');
  await add(2);
  await retryUntilPass(async () => expect(await readNote(2)).toEqual({ found: true, standby: false }), 2_000);
  expect(await readiness()).toMatchObject({ status: 'ok', reads: 'primary' });
  expect(kit.app.reads.lagMs()).toBeGreaterThan(500);

  await run(standby, 'select pg_wal_replay_resume()');
  await retryUntilPass(async () => expect(await readNote(2)).toEqual({ found: true, standby: true }));
});

test('a read that the standby cannot answer is answered by the primary', async () => {
  await retryUntilPass(async () => expect((await readNote(2))?.standby).toBe(true));
  const isPrimary = { text: `select 1 / (not pg_is_in_recovery())::int as one` };
  expect(await kit.app.reads.query(isPrimary)).toEqual([{ one: 1 }]);
});

test('a commit that no standby confirms is reported as an unavailable dependency, and costs the pool no connection', async () => {
  await standby.kill();
  await run(primary, `alter system set synchronous_standby_names = '*'`);
  await run(primary, 'select pg_reload_conf()');
  // PostgreSQL reports the commit as successful when its wait for the standby is cancelled.
  const cancelled = add(10).catch((error: unknown) => error);
  const cancel = `select pg_cancel_backend(pid) as done from pg_stat_activity where wait_event = 'SyncRep'`;
  await retryUntilPass(async () => expect(await run(primary, cancel)).toEqual([{ done: true }]));
  expect(await cancelled).toMatchObject({ code: '08007', message: 'no standby confirmed the commit, so a failover may lose it' });
  expect(toHttpError(await cancelled)).toMatchObject({ status: 503 });

  const results = await Promise.all(Array.from({ length: 12 }, (_, n) => add(20 + n).catch((error: unknown) => toHttpError(error).status)));
  expect(results).toEqual(results.map(() => 503));
  await run(primary, 'alter system reset synchronous_standby_names');
  await run(primary, 'select pg_reload_conf()');
  await standby.restart();
  await Promise.all(Array.from({ length: 12 }, (_, n) => add(40 + n)));
}, 60_000);

test('after a standby is promoted, the service leaves the old primary also if it still runs, and recognises the failover before the first checkpoint', async () => {
  await retryUntilPass(async () => expect(await readNote(41)).toEqual({ found: true, standby: true }));
  const before = await readIdentity(kit.app);
  await kit.app.tx((tx) => tx.query({ text: 'update payout_watch set system_identifier = $1, timeline = $2' }, [before?.system, before?.timeline]));
  expect(await kit.app.db.query(selectFailover)).toEqual([]);
  await retryUntilPass(async () =>
    expect(await run(standby, 'select timeline from payout_watch where timeline is not null')).toEqual([{ timeline: before?.timeline }]),
  );

  // The old primary is not stopped. One connection that fails is enough to leave it.
  await run(standby, 'select pg_promote()');
  await Promise.all(Array.from({ length: 10 }, () => kit.app.db.query(sleepShortly)));
  await run(primary, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'coinop' limit 1`);
  const timelines = async () =>
    new Set((await Promise.all(Array.from({ length: 10 }, () => kit.app.db.query(sleepShortly)))).map(([row]) => row?.timeline));
  await retryUntilPass(async () => expect(await timelines()).toEqual(new Set([(before?.timeline ?? 0) + 1])));

  await primary.kill();
  await retryUntilPass(async () => void (await add(51)), 10_000);
  expect(await readiness()).toMatchObject({ status: 'ok', reads: 'primary' });
  const timeline = (before?.timeline ?? 0) + 1;
  expect(await readIdentity(kit.app)).toEqual({ system: before?.system, timeline });
  expect(await kit.app.db.query(selectFailover)).toEqual([{ timeline: before?.timeline }]);
  expect(await readNote(51)).toEqual({ found: true, standby: false });
}, 60_000);

test('of two servers that accept writes, the service uses the one that was promoted last', async () => {
  await primary.restart();
  expect(await findPrimary(kit.app.config.database.url)).toBe(standby.url);
});
