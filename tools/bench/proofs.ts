import { startSystem } from '#dev/stack/system.ts';
import { cpuPerRequest, cpuSeconds, reportCpu } from './support/cpu.ts';
import { anyWallets, computeDay, EPOCH_QUEUES, oneOf, seedDay, urlOf } from './support/days.ts';
import { load, request } from './support/load.ts';
import { reportLoad } from './support/report.ts';

/**
 * This benchmark measures requests for Merkle proofs over HTTP, for random wallets of an epoch of a million wallets. One API process, PostgreSQL and
 * this load share one machine. The service caches only the upper part of the tree.
 */

const WALLETS = Number(process.env.BENCH_WALLETS ?? 1_000_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const TARGET_PER_SEC = 3_000;
const DAY = 20_000;

const system = await startSystem({ durable: true, env: EPOCH_QUEUES });
try {
  const wallets = anyWallets(WALLETS);
  await seedDay(system, DAY, wallets);
  await computeDay(system, DAY);
  const port = Number(new URL(urlOf(system)).port);
  for (const connections of [8, 64]) {
    const before = cpuSeconds(system);
    const result = await load({
      port,
      connections,
      seconds: SECONDS,
      next: () => request('GET', `/api/rewards/epoch/${DAY}/proof/${oneOf(wallets)}`, `localhost:${port}`, {}),
    });
    // Ignores status 404, because a wallet whose amount is zero has no leaf and no proof.
    const { 404: _, ...statuses } = result.statuses;
    reportLoad(`proofs, ${connections} connections`, { ...result, statuses }, { perSec: TARGET_PER_SEC });
    reportCpu(`proofs, ${connections} connections`, cpuPerRequest(before, cpuSeconds(system), result.requests));
  }
} finally {
  await system.stop();
}
