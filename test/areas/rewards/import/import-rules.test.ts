import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DistributionReader } from '#areas/rewards/import/distribution.ts';
import { importDistribution } from '#areas/rewards/import/import.ts';
import type { TestApp } from '#test/support/app.ts';
import { DAY, epochOf, randomWallet, setRules, startRewards } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { meanwhile } from '#test/support/meanwhile.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startRewards();
});
afterAll(() => t?.close());

test('an imported epoch keeps the rules that it was checked with, even when an operator changes the rules at the same time', async () => {
  await setRules(t, { pool: '1000' });
  const reader = new DistributionReader();
  for (const row of [1, 2, 3]) reader.row({ wallet: randomWallet(), amount: '100' }, row);
  const distribution = { ...reader.finish(), header: { epoch: DAY } };
  const lowered = meanwhile(t.app, 'select_reward_rules', () => setRules(t, { pool: '1' }));
  const by = { name: 'internal-1', isOperator: false };
  const result = await importDistribution(lowered, distribution, async (page) => reader.page(page), 0, by);
  expect(result).toMatchObject({ epoch: { epoch: DAY, pool: '1000' } });
  const built = { status: 'computed', pool: '1000', total: '300', undistributed: '700' };
  await retryUntilPass(async () => expect(await epochOf(t, DAY)).toMatchObject(built), 60_000);
});
