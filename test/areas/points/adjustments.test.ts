import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appendPoints, ensurePlayer, type LedgerEntry, openDay, readPlayerPoints, readPointTotals } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const adjustment = (wallet: string, sourceId: string, points: number, mode: 'regular' | 'beta' = 'regular'): LedgerEntry => ({
  ...{ source: 'adjustment', kind: 'adjustment', reason: 'adjustment', rewards: false, wallet, sourceId, points, mode },
});

test('before the first entry, the points of all wallets are 0 for each origin', async () => {
  expect(await readPointTotals(t.app.db)).toEqual({ game: 0, quest: 0, referral: 0, conversion: 0, adjustment: 0 });
});

test('the adjustments of a player are sums of the player’s own adjustments by mode and day, without other entries', async () => {
  const [wallet, other] = [createWallet().address, createWallet().address];
  for (const one of [wallet, other]) await t.app.tx((tx) => ensurePlayer(tx, one));
  const day = await t.app.tx(async (tx) => {
    const open = await openDay(tx);
    await appendPoints(tx, open, [
      ...[adjustment(wallet, 'a', 5), adjustment(wallet, 'b', -2), adjustment(wallet, 'c', 7, 'beta'), adjustment(other, 'd', 100)],
      { source: 'quest', kind: 'quest', reason: 'quest', wallet, mode: 'regular', sourceId: 'q', points: 1_000, rewards: false },
    ]);
    return open.day;
  });
  const { adjustments = [] } = (await readPlayerPoints(t.app.db, wallet, ['global'])) ?? {};
  expect(adjustments.toSorted((a, b) => a.points - b.points)).toEqual([
    { mode: 'regular', day, points: 3 },
    { mode: 'beta', day, points: 7 },
  ]);
});
