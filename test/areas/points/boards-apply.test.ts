import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appendPoints, applyToBoard, boardKeys, type LedgerEntry, openDay, readPage, rebuildBoard } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createWallet } from '#test/support/wallet.ts';

const DAY_MS = 86_400_000;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const entry = (wallet: string, sourceId: string): LedgerEntry => ({
  wallet,
  mode: 'regular',
  kind: 'game',
  reason: 'score',
  source: 'score',
  sourceId,
  points: 5,
  rewards: true,
});

test('a row of a writer from before midnight keeps the value that another writer added after midnight', async () => {
  const midnight = (Math.floor(Date.now() / DAY_MS) + 30) * DAY_MS;
  await t.clock.set(new Date(midnight - 1_000));
  await rebuildBoard(t.app, 'global');
  const { address } = createWallet();
  const opened = await t.app.tx((tx) => openDay(tx));
  await t.clock.set(new Date(midnight + 1_000));
  const later = await t.app.tx(async (tx) => {
    const open = await openDay(tx);
    return { day: open.day, rows: await appendPoints(tx, open, [entry(address, 'after')]) };
  });
  const earlier = await t.app.tx((tx) => appendPoints(tx, opened, [entry(address, 'before')]));
  await applyToBoard(t.app, 'global', opened.day, earlier);
  await applyToBoard(t.app, 'global', later.day, later.rows);
  const page = await readPage(t.app, 'global', { span: 'day', limit: 10, offset: 0 });
  expect(page.entries).toEqual([{ rank: 1, wallet: address, score: 5 }]);
});

test('a board that was completed before a restart of Redis returns no ranks', async () => {
  const { address } = createWallet();
  await rebuildBoard(t.app, 'global');
  expect(await applyToBoard(t.app, 'global', 0, [], [address])).toHaveLength(1);
  await t.app.redis.set(boardKeys(t.app.config.redis.prefix, 'global').ready, 'another-run-id');
  expect(await applyToBoard(t.app, 'global', 0, [], [address])).toBeNull();
});
