import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { databaseUser, temporaryBase } from '#dev/stack/folders.ts';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { contradictions } from '#test/support/invariants.ts';
import { addressOfKey, connect } from '#test/support/solana/chain.ts';
import { send } from '#test/support/wallet.ts';

const GAME = 'restored-game';

/** Contains the archive, the backup and the replaced data. */
let folder: string;
let system: System;
beforeAll(async () => {
  folder = mkdtempSync(join(temporaryBase(), 'coinop-restore-'));
  const user = databaseUser();
  if (user) chownSync(folder, user.uid, user.gid);
  runAsDatabaseUser(`mkdir ${folder}/archive ${folder}/backup`);
  system = await startSystem({
    durable: true,
    postgresSettings: { archive_mode: 'on', archive_command: `test ! -f ${folder}/archive/%f && cp %p ${folder}/archive/%f` },
    localnet: { slotMs: 20, finalizedAfter: 8 },
    env: { LANDING_POLL_MS: '50', LANDING_RECHECK_MS: '200', LANDING_DEPTH_BLOCKS: '4' },
  });
}, 120_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function runAsDatabaseUser(script: string): void {
  const { status, stderr } = spawnSync('bash', ['-e', '-c', script], { cwd: folder, encoding: 'utf8', ...databaseUser() });
  if (status !== 0) throw new Error(stderr);
}

/** Returns the commands of a block of the section "Back up and restore" of docs/operations.md, with the folders of this test. */
function documented(part: string, data: string, time = ''): string {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
  const section = text.slice(text.indexOf('## Back up and restore'), text.indexOf('## Drills after a restore'));
  const block = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, commands = '']) => commands).find((commands) => commands.includes(part));
  if (block === undefined) throw new Error(`the documents have no block with ${part}`);
  return block
    .replace(/^pg_ctl .*$/m, '')
    .replaceAll(/\/backup\/(\$\(date \+%F\)|[\d-]+)/g, `${folder}/backup/base`)
    .replaceAll('/archive/', `${folder}/archive/`)
    .replaceAll(/ \/data\b/g, ` ${data}`)
    .replace(/(recovery_target_time = )'.*'/, `$1'${time}'`)
    .replaceAll(/^(pg_basebackup|psql)/gm, `${system.postgres.binaries}/$1`)
    .replaceAll('"$ADMINISTRATOR_URL"', `"${system.postgres.url}"`);
}

async function query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: system.postgres.url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

async function admin<T>(path: string, json?: unknown): Promise<T> {
  const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` };
  const response = await send({ url: system.urls[0] ?? '' }, path, json === undefined ? { headers } : { headers, json });
  if (!response.ok) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function treasury(): Promise<bigint | undefined> {
  const account = associatedTokenAddress(addressOfKey(system.env.TREASURY_KEY), parseAddress(system.env.REWARD_MINT ?? ''));
  return decodeTokenAccount(await connect(system.localnet?.url ?? '').getAccountInfo(account, 'finalized'))?.amount;
}

const untilCommitted = (epoch: number) =>
  retryUntilPass(async () => expect(await admin(`/api/rewards/epoch/${epoch}`)).toMatchObject({ status: 'committed' }), 60_000);
/** Lets a worker compare the database with the chain, which happens once a minute otherwise, until roots are paused for this reason. */
const untilDoubt = (doubt: unknown) =>
  retryUntilPass(async () => {
    await admin('/admin/payouts/resume', {});
    expect(await admin('/admin/chain')).toMatchObject({ doubt });
  }, 60_000);

test('a backup restored to a time has what was confirmed before, pauses roots until the chain is explained, and pays no root twice', async () => {
  const url = system.urls[0] ?? '';
  await registerGame(url, SYSTEM_ADMIN_TOKEN, GAME);
  const player = await patientPlayer(system.urls);
  const socketFolder = decodeURIComponent(/@([^:]*):/.exec(system.postgres.url)?.[1] ?? '');
  const dataFolder = join(socketFolder, '../data');
  runAsDatabaseUser(documented('pg_basebackup', dataFolder));

  await player.score(GAME, 1_000);
  const [restoredTo] = await query<{ at: string }>('select now()::text as at');
  await sleep(100);
  await player.score(GAME, 9_000);
  const epoch = Math.floor(Date.now() / 86_400_000) - 1;
  const distribution = [{ wallet: player.wallet, amount: '2500000' }];
  const before = await treasury();
  await admin('/api/rewards/epoch/import', { epoch, distribution });
  await untilCommitted(epoch);
  await retryUntilPass(async () => expect(await treasury()).toBe((before ?? 0n) - 2_500_000n));

  await Promise.all([...system.apis, ...system.workers].map((process) => process.stop()));
  await query('select pg_switch_wal()');
  await retryUntilPass(async () => {
    const [archived] = await query<{ done: boolean }>(
      `select last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) as done from pg_stat_archiver`,
    );
    expect(archived).toEqual({ done: true });
  });
  await system.postgres.kill();
  renameSync(dataFolder, join(folder, 'replaced'));
  runAsDatabaseUser(documented('recovery_target_time', dataFolder, restoredTo?.at));
  await system.postgres.restart();
  runAsDatabaseUser(documented('alter system reset', dataFolder));
  await system.redis.restart({ empty: true });
  expect(await query('select normalized from scores')).toEqual([{ normalized: 1_000 }]);
  await Promise.all([...system.apis, ...system.workers].map((process) => process.start()));

  await untilDoubt(expect.stringMatching(new RegExp(`the database was restored or failed over|epoch ${epoch} is open on the chain`)));
  await untilDoubt(expect.stringMatching(new RegExp(`epoch ${epoch} is open on the chain with the root \\w+, but is not in the database`)));
  await player.score(GAME, 3_000);
  const stores = { databaseUrl: system.postgres.url, redisUrl: system.redis.url, redisPrefix: 'coinop' };
  await retryUntilPass(async () => expect(await contradictions(stores)).toEqual([]), 20_000);

  await admin('/api/rewards/epoch/import', { epoch, distribution });
  await untilDoubt(null);
  await untilCommitted(epoch);
  expect(await treasury()).toBe((before ?? 0n) - 2_500_000n);
}, 240_000);
