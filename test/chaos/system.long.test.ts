import { expect, test } from '@jest/globals';
import { runChaos } from './system/run.ts';

/** Seed of the faults. `bin/soak system` runs other seeds for a longer time. */
const SEED = Number(process.env.CHAOS_SEED ?? 11);

test(`under random faults the system loses no confirmed write, makes no payment twice and delivers every event (seed ${SEED})`, async () => {
  const { failures, log } = await runChaos({
    ...{ seed: SEED, forMs: 11_000, players: 3, quietMs: 1_100, downMs: 1_000, settleMs: 120_000, verified: 1 },
    print: () => undefined,
  });
  // On failure the output shows the failures and the last 25 faults.
  expect({ failures, after: failures.length > 0 ? log.slice(-25) : [] }).toEqual({ failures: [], after: [] });
}, 300_000);
