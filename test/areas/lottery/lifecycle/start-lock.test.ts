import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lockTreasury } from '#areas/lottery';
import { createRound, LONG_SEC } from '#test/support/areas/draws.ts';
import { asAdmin, startRoundsTest } from '#test/support/areas/rounds.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t?.close());

test('the start of a round waits for a transaction that reserves tokens of the treasury, so that both do not reserve the same tokens', async () => {
  const round = await createRound(t, { durationSec: LONG_SEC, prizes: [{ amount: '1', mint: 'usdc' }] });
  const commit = await holdTransaction(t.app, (tx) => lockTreasury(tx));
  const started = send(t, `/chat/round/${round.id}/start`, { method: 'POST', headers: asAdmin });
  await untilBlocked(t.app, started).finally(commit);
  expect((await started).status).toBe(200);
});
