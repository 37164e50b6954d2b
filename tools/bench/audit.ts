import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { boardKeys } from '#areas/points';
import { withoutKeys } from '#dev/stack/localnet.ts';
import { type System, startSystem } from '#dev/stack/system.ts';
import { fillArcade } from './support/arcade.ts';
import { cpuSeconds, secondsOf } from './support/cpu.ts';
import { peakMemory } from './support/days.ts';
import { report } from './support/report.ts';
import { withDatabase } from './support/wallets.ts';

/** `bin/audit` on what an arcade of a million wallets has left behind: eight million rows of the ledger, five of scores, ten of activities. */
const WALLETS = Number(process.env.BENCH_WALLETS ?? 1_000_000);
const LIMIT = { seconds: 300, megabytes: 300 };
/** There is no chain here, and no clip: what these look at is bounded by a sample, or by what is open. */
const ELSEWHERE = ['signatures', 'vaults', 'treasury', 'hand-payments', 'clip-media'];
/** Checks that take less are reported together, s. */
const WORTH_TELLING = 1;

const Told = z.object({
  ms: z.number(),
  checks: z.array(
    z.object({ name: z.string(), status: z.string(), ms: z.number(), differences: z.array(z.string()), failure: z.string().nullable() }),
  ),
});

const system = await startSystem({ env: { QUEUES: 'points,upkeep' } });
try {
  await system.workers[0]?.stop();
  const begin = performance.now();
  await withDatabase(system, (db) => fillArcade(db, WALLETS, (line) => console.log(line)));
  report(`${WALLETS} wallets made`, (performance.now() - begin) / 1_000, 's');
  await fillBoards(system);
  const before = cpuSeconds(system).postgresql;
  const { told, megabytes, seconds } = await audit(system);
  const after = cpuSeconds(system).postgresql;
  const slow = told.checks.filter(({ ms }) => ms >= 1_000 * WORTH_TELLING).sort((a, b) => b.ms - a.ms);
  for (const { name, ms } of slow) report(`check ${name}`, ms / 1_000, 's');
  report(`the other ${told.checks.length - slow.length} checks`, (told.ms - slow.reduce((sum, { ms }) => sum + ms, 0)) / 1_000, 's');
  report(`audit of ${WALLETS} wallets`, told.ms / 1_000, 's', { atMost: LIMIT.seconds });
  if (before !== undefined && after !== undefined) report('CPU of PostgreSQL for it', after - before, 's');
  report('CPU of its process', seconds, 's');
  report('its process, at most', megabytes ?? 0, 'MB', { atMost: LIMIT.megabytes });
  for (const { name, status, differences, failure } of told.checks) {
    if (status !== 'fine') throw new Error(`${name} ${status}: ${failure ?? differences.join('\n')}`);
  }
} finally {
  await system.stop();
}

/** Has workers fill the boards in Redis from the standings. */
async function fillBoards(of: System): Promise<void> {
  const redis = new Redis(of.redis.url);
  await redis.flushall();
  const boards = await withDatabase(of, async (db) => (await db.query<{ board: string }>('select distinct board from standings')).rows);
  await of.workers[0]?.start();
  for (const { board } of boards) while ((await redis.exists(boardKeys('coinop', board).ready)) === 0) await sleep(100);
  redis.disconnect();
}

/** Runs the command as cron would. */
async function audit(of: System): Promise<{ told: z.infer<typeof Told>; megabytes: number | null; seconds: number }> {
  const args = [join(import.meta.dirname, '../audit/main.ts'), '--json', '--skip', ELSEWHERE.join(',')];
  const child = spawn(process.execPath, args, { env: { ...withoutKeys(of.env), NODE_ENV: 'audit' }, stdio: ['ignore', 'pipe', 'inherit'] });
  let megabytes: number | null = null;
  let seconds = 0;
  const watching = setInterval(() => {
    megabytes = peakMemory(child.pid ?? 0) ?? megabytes;
    seconds = Math.max(seconds, secondsOf(child.pid ?? 0));
  }, 200);
  const told = Told.parse(JSON.parse(await text(child.stdout)));
  clearInterval(watching);
  return { told, megabytes, seconds };
}
