import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lockTreasury } from '#areas/lottery';
import { acceptEntries, lockActiveRound, lockRound } from '#areas/lottery/entries.ts';
import { lockInState } from '#areas/lottery/lifecycle/rows.ts';
import type { App } from '#platform/app.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { closeRound, openRound } from '#test/support/areas/chat.ts';
import { expectToWait } from '#test/support/locks.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('two transactions that reserve tokens of the treasury run one after the other', async () => {
  await expectToWait(t.app, 'lock_treasury', (app) => app.tx((tx) => lockTreasury(tx)));
});

test('an entry waits for the transaction that freezes its round', async () => {
  const round = await openRound(t);
  const freeze = (app: App) =>
    app.tx(async (tx) => {
      const locked = await lockRound(tx, round);
      await tx.query({ text: `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where id = $1` }, [round]);
      return locked?.entries;
    });
  const enter = (app: App) =>
    app.tx(async (tx) => {
      const entry = { id: crypto.randomUUID(), wallet: createWallet().address, numbers: null, source: 'coinop', messageId: crypto.randomUUID() };
      return await acceptEntries(t.app, tx, await lockActiveRound(tx), [entry]);
    });
  const outcomes = await expectToWait(t.app, 'lock_round', freeze, enter);
  expect(outcomes).toMatchObject([{ value: 0 }, { value: [{ status: 409, error: 'no round accepts entries now' }] }]);
});

test('two steps of the lifecycle of one round run one after the other', async () => {
  const round = await openRound(t);
  await closeRound(t.app);
  const step = (app: App) =>
    app.tx(async (tx) => {
      const isMine = await lockInState(tx, round, 'closing');
      if (isMine)
        await tx.query({ text: `update rounds set state = 'void', void_reason = 'no-entries', ended_at = app_now() where id = $1` }, [round]);
      return isMine;
    });
  const outcomes = await expectToWait(t.app, 'lock_round_in_state', step);
  expect(outcomes).toMatchObject([{ value: true }, { value: false }]);
});
