import { expect, test } from '@jest/globals';
import { runPayouts } from './payouts/run.ts';

/** Seed of the faults. `bin/soak payouts` runs other seeds for a longer time. */
const SEED = Number(process.env.CHAOS_SEED ?? 7);

test(`under spam of strangers, congestion, kills and misbehaving providers, each payment and claim is made once (seed ${SEED})`, async () => {
  const { failures, log } = await runPayouts({
    ...{ seed: SEED, forMs: 15_000, players: 3, quietMs: 1_100, downMs: 1_200, settleMs: 120_000 },
    print: () => undefined,
  });
  // On failure the output shows the failures and the last 25 faults.
  expect({ failures, after: failures.length > 0 ? log.slice(-25) : [] }).toEqual({ failures: [], after: [] });
}, 300_000);
