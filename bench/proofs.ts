import { startSystem } from '../stack/system.ts';
import { cpuPerRequest, cpuSeconds } from './cpu.ts';
import { anyWallets, computeDay, EPOCH_QUEUES, oneOf, seedDay, urlOf } from './days.ts';
import { load, request } from './load.ts';

/**
 * Proofs over HTTP, for random wallets of an epoch of a million: one API process, PostgreSQL and this load on one machine.
 * Nothing is kept of a proof but the upper part of its tree.
 */
const WALLETS = Number(process.env.BENCH_WALLETS ?? 1_000_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const TARGET_PER_SEC = 3_000;
const DAY = 20_000;

const system = await startSystem({ durable: true, env: EPOCH_QUEUES });
try {
  const wallets = anyWallets(WALLETS);
  await seedDay(system, DAY, wallets);
  console.log(`${WALLETS} wallets, computed in ${(await computeDay(system, DAY)).toFixed(1)} s`);
  const port = Number(new URL(urlOf(system)).port);
  for (const connections of [8, 64]) {
    const before = cpuSeconds(system);
    const result = await load({
      port,
      connections,
      seconds: SECONDS,
      next: () => request('GET', `/api/rewards/epoch/${DAY}/proof/${oneOf(wallets)}`, `localhost:${port}`, {}),
    });
    console.log(
      `proofs, ${connections} connections: ${result.perSec}/s (${(result.perSec / TARGET_PER_SEC).toFixed(2)}× of the target)  p50 ${result.p50} ms  p99 ${result.p99} ms  ` +
        `max ${result.max} ms  statuses ${JSON.stringify(result.statuses)}\n  ${cpuPerRequest(before, cpuSeconds(system), result.requests)}`,
    );
  }
} finally {
  await system.stop();
}
