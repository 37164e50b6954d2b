import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { type PatroniCluster, startPatroni } from '#dev/stack/patroni/cluster.ts';
import { openTemporaryFolder } from '#dev/stack/temporary.ts';

let temporary: Awaited<ReturnType<typeof openTemporaryFolder>>;
let cluster: PatroniCluster;
const folder = () => join(temporary.path, 'patroni');
beforeEach(async () => {
  temporary = await openTemporaryFolder('coinop-patroni-');
  cluster = await startPatroni({ folder: folder() });
}, 320_000);
afterEach(async () => {
  await cluster?.stop();
  await temporary?.remove();
}, 60_000);

/** Runs a query on the server that accepts writes. @returns the rows; none while no server accepts writes */
async function onPrimary<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  for (const connectionString of cluster.serverUrls) {
    const client = new pg.Client({ connectionString });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
      if (rows[0]?.standby === false) return (await client.query<Row>(sql)).rows;
    } catch {
      // The server is down.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return [];
}

const hasFailedRewind = () => ['node-1', 'node-2'].some((name) => readFileSync(join(folder(), name, 'log'), 'utf8').includes('Failed to rewind'));

test('an old primary whose pg_rewind loses its connection becomes a synchronous standby again', async () => {
  await onPrimary('create table filler as select i, repeat(md5(i::text), 30) as text from generate_series(1, 100000) as i');
  await cluster.kill();
  let isBack = false;
  const back = cluster.restart().finally(() => (isBack = true));
  // pg_rewind reads the files of the new primary over a connection. Its queries name the function that reads a file.
  while (!isBack && !hasFailedRewind()) {
    await onPrimary(`select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid() and query ~ 'pg_read_binary_file|pg_ls_dir|pg_tablespace'`);
    await sleep(5);
  }
  expect(hasFailedRewind()).toBe(true);
  await back;
  expect(await onPrimary('select sync_state from pg_stat_replication')).toEqual([{ sync_state: 'sync' }]);
}, 300_000);
