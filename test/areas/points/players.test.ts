import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { banWallet } from '#areas/arcade';
import { ensurePlayer, grantPoints, lockPlayers, openDay, readPlayerPoints, saveEarnings } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { expectToWait, holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

/** Inserts the rows of wallets in this order. */
async function insertPlayers(wallets: readonly string[]): Promise<void> {
  for (const wallet of wallets) await t.app.tx((tx) => ensurePlayer(tx, wallet));
}

test('fifty transactions that grant points to one wallet do not exceed its caps', async () => {
  const wallet = createWallet().address;
  await insertPlayers([wallet]);
  const granted = await Promise.all(
    Array.from({ length: 50 }, () =>
      t.app.tx(async (tx) => {
        const [open, players] = await Promise.all([openDay(tx), lockPlayers(tx, [wallet])]);
        const player = players.get(wallet);
        if (!player) throw new Error('the row of the wallet is missing');
        const points = grantPoints(player, open, 'a-game', 10, { game: 130, all: 1_000 });
        await saveEarnings(tx, [player]);
        return points;
      }),
    ),
  );
  expect(granted.reduce((sum, points) => sum + points, 0)).toBe(130);
  const [row] = await sql<{ earned: number }>(t.app, 'select earned from players where wallet = $1', [wallet]);
  expect(row?.earned).toBe(130);
});

test('a transaction that locks a wallet makes the next one wait', async () => {
  const wallet = createWallet().address;
  await insertPlayers([wallet]);
  await expectToWait(t.app, 'lock_players', (app) => app.tx((tx) => lockPlayers(tx, [wallet])));
});

test('wallets are locked in the order of their addresses, so that two transactions with the same wallets do not deadlock', async () => {
  const [low = '', high = ''] = [createWallet().address, createWallet().address].sort();
  // In the table, the rows have the opposite order.
  await insertPlayers([high, low]);
  const commit = await holdTransaction(t.app, (tx) => lockPlayers(tx, [low]));
  const waiting = t.app.tx((tx) => lockPlayers(tx, [high, low]));
  await untilBlocked(t.app, waiting);
  const free = await sql(t.app, 'select wallet from players where wallet = $1 for update skip locked', [high]);
  await commit();
  await waiting;
  expect(free).toEqual([{ wallet: high }]);
});

test('a ban waits for a transaction that found the wallet not banned', async () => {
  const wallet = createWallet().address;
  await insertPlayers([wallet]);
  const [found] = await expectToWait(
    t.app,
    'find_player_to_join',
    (app) => app.tx((tx) => ensurePlayer(tx, wallet)),
    (app) => banWallet(app, wallet, 'a test'),
  );
  expect(found).toMatchObject({ value: { banned: false } });
  expect(await t.app.tx((tx) => ensurePlayer(tx, wallet))).toEqual({ banned: true });
});

test('the points of a wallet contain the time of its first sign-in, and a wallet that never signed in has none', async () => {
  const wallet = createWallet().address;
  await insertPlayers([wallet]);
  await sql(t.app, `update players set created_at = '2026-03-04T05:06:07.089Z' where wallet = $1`, [wallet]);
  expect((await readPlayerPoints(t.app.db, wallet, ['global']))?.since).toBe(Date.parse('2026-03-04T05:06:07.089Z'));
  expect(await readPlayerPoints(t.app.db, createWallet().address, ['global'])).toBeNull();
});
