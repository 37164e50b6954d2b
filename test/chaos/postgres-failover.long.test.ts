import { expect, test } from '@jest/globals';
import { runChaos } from './system/run.ts';

test('when the primary of PostgreSQL is lost, and when it changes by plan, nothing confirmed is lost, nothing is doubled, and the service is back within 30 s', async () => {
  const { failures, log } = await runChaos({
    ...{ seed: 23, forMs: 0, players: 3, quietMs: 0, downMs: 0, settleMs: 60_000, verified: 1, failovers: 'postgres' },
    print: (line) => void (process.env.CHAOS_PRINT && process.stderr.write(`${line}\n`)),
  });
  expect({ failures, after: failures.length > 0 ? log : [] }).toEqual({ failures: [], after: [] });
}, 300_000);
