import { expect, test } from '@jest/globals';
import { runThroughHavoc } from './system/run.ts';

/** Which faults, in which order; `bin/soak system` runs others, and for longer. */
const SEED = Number(process.env.CHAOS_SEED ?? 11);

test(`a system to which everything happens loses nothing that it confirmed, pays nothing twice, and tells everything (seed ${SEED})`, async () => {
  const { failures, log } = await runThroughHavoc({
    ...{ seed: SEED, forMs: 11_000, players: 3, quietMs: 1_100, downMs: 1_000, settleMs: 120_000, verified: 1 },
    say: () => undefined,
  });
  // On failure all of it is shown: what does not hold, and what had happened.
  expect({ failures, after: failures.length > 0 ? log.slice(-25) : [] }).toEqual({ failures: [], after: [] });
}, 300_000);
