import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { boardKeys } from '#areas/points';
import { withoutKeys } from '#dev/stack/localnet.ts';
import { type System, startSystem } from '#dev/stack/system.ts';
import { fillArcadeHistory } from './support/arcade.ts';
import { cpuSeconds, secondsOf } from './support/cpu.ts';
import { peakMemory } from './support/days.ts';
import { report } from './support/report.ts';
import { withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures `bin/audit` on the data of an arcade with a million wallets: eight million ledger rows, five million scores, ten million
 * activities.
 */

const WALLETS = Number(process.env.BENCH_WALLETS ?? 1_000_000);
const LIMIT = { seconds: 300, megabytes: 300 };
/**
 * Checks that this benchmark skips, because its system has no chain and no clips. The duration of these checks depends on the size of a sample or on
 * the number of open epochs, not on the number of wallets.
 */
const SKIPPED = ['signatures', 'vaults', 'treasury', 'hand-payments', 'clip-media'];
/** Minimum duration of a check that is reported on its own, s. All shorter checks are reported as one sum. */
const MIN_REPORTED_SEC = 1;

const AuditOutput = z.object({
  ms: z.number(),
  checks: z.array(
    z.object({ name: z.string(), status: z.string(), ms: z.number(), differences: z.array(z.string()), failure: z.string().nullable() }),
  ),
});

const system = await startSystem({ env: { QUEUES: 'points,maintenance' } });
try {
  await system.workers[0]?.stop();
  const begin = performance.now();
  await withDatabase(system, (db) => fillArcadeHistory(db, WALLETS, (line) => console.log(line)));
  report(`data of ${WALLETS} wallets created`, (performance.now() - begin) / 1_000, 's');
  await fillBoards(system);
  const before = cpuSeconds(system).postgresql;
  const { output, megabytes, seconds } = await audit(system);
  const after = cpuSeconds(system).postgresql;
  const slow = output.checks.filter(({ ms }) => ms >= 1_000 * MIN_REPORTED_SEC).sort((a, b) => b.ms - a.ms);
  for (const { name, ms } of slow) report(`check ${name}`, ms / 1_000, 's');
  report(`the other ${output.checks.length - slow.length} checks`, (output.ms - slow.reduce((sum, { ms }) => sum + ms, 0)) / 1_000, 's');
  report(`audit of ${WALLETS} wallets`, output.ms / 1_000, 's', { atMost: LIMIT.seconds });
  if (before !== undefined && after !== undefined) report('CPU of PostgreSQL during the audit', after - before, 's');
  report('CPU of the audit process', seconds, 's');
  report('peak memory of the audit process', megabytes ?? 0, 'MB', { atMost: LIMIT.megabytes });
  for (const { name, status, differences, failure } of output.checks) {
    if (status !== 'fine') throw new Error(`${name} ${status}: ${failure ?? differences.join('\n')}`);
  }
} finally {
  await system.stop();
}

/** Empties Redis, starts the worker, and waits until the worker has filled all boards from the standings. */
async function fillBoards(of: System): Promise<void> {
  const redis = new Redis(of.redis.url);
  await redis.flushall();
  const boards = await withDatabase(of, async (db) => (await db.query<{ board: string }>('select distinct board from standings')).rows);
  await of.workers[0]?.start();
  for (const { board } of boards) while ((await redis.exists(boardKeys('coinop', board).ready)) === 0) await sleep(100);
  redis.disconnect();
}

/** Runs bin/audit in a child process. Returns its output, its peak memory in MB and its CPU time in seconds. */
async function audit(of: System): Promise<{ output: z.infer<typeof AuditOutput>; megabytes: number | null; seconds: number }> {
  const args = [join(import.meta.dirname, '../audit/main.ts'), '--json', '--skip', SKIPPED.join(',')];
  const child = spawn(process.execPath, args, { env: { ...withoutKeys(of.env), NODE_ENV: 'audit' }, stdio: ['ignore', 'pipe', 'inherit'] });
  let megabytes: number | null = null;
  let seconds = 0;
  const watching = setInterval(() => {
    megabytes = peakMemory(child.pid ?? 0) ?? megabytes;
    seconds = Math.max(seconds, secondsOf(child.pid ?? 0));
  }, 200);
  const output = AuditOutput.parse(JSON.parse(await text(child.stdout)));
  clearInterval(watching);
  return { output, megabytes, seconds };
}
