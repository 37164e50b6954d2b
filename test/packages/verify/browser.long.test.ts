import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBrowser, type VerifyingBrowser } from '#test/support/verify/browser.ts';
import { createRecentWorld, pinsOf, serveWorld } from '#test/support/verify/served-world.ts';
import type { World } from '#test/support/verify/world.ts';

const LIMIT_MS = 2_000;

let browser: VerifyingBrowser;
beforeAll(async () => {
  browser = await openBrowser();
}, 600_000);
afterAll(() => browser?.close());

const newWorld = () => createRecentWorld(1_000, 200);

async function verify(world: World, change: Readonly<Record<string, string>> = {}) {
  const { house, rpc, beacon: beaconUrl, close } = await serveWorld(world);
  try {
    return await browser.verify({ round: world.facts.parameters.round, house, rpc, beaconUrl, ...pinsOf(world), ...change });
  } finally {
    close();
  }
}

test('a page in Chromium shows that an honest round of 1,000 entries is true, in less than two seconds', async () => {
  const world = newWorld();
  const runs = [await verify(world), await verify(world), await verify(world)];
  for (const { verdict, steps } of runs)
    expect([verdict, steps]).toEqual(['true', expect.arrayContaining([expect.stringMatching(/^entries: true: 1000 entries keep the rules/)])]);
  const ms = Math.min(...runs.map((run) => run.ms));
  process.stdout.write(`verification of 1,000 entries in Chromium: ${ms} ms of ${LIMIT_MS} ms\n`);
  expect(ms).toBeLessThan(LIMIT_MS);
}, 120_000);

test('a page in Chromium shows that a round is false when the house swaps its prizes, and names the check', async () => {
  const world = newWorld();
  const [first, second] = world.audit?.winners ?? [];
  if (!first || !second) throw new Error('the round has too few winners');
  [first.prize, second.prize] = [second.prize, first.prize];
  const { verdict, steps } = await verify(world);
  expect([verdict, steps.at(-1)]).toEqual(['false', expect.stringMatching(/^result: false: winners\[0\]\.prize/)]);
}, 120_000);

test('a page in Chromium shows that a round cannot be checked when the node does not answer', async () => {
  // Nothing listens on port 1.
  const { verdict, steps } = await verify(newWorld(), { rpc: 'http://127.0.0.1:1' });
  expect([verdict, steps.at(-1)]).toEqual(['cannot be checked', expect.stringMatching(/^rpc: unknown/)]);
}, 120_000);
