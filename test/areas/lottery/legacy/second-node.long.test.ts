import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { contradictionScope, resume } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { newPayer, openRound, payFor, requestTicket, storedTickets, untilFinal } from '#test/support/areas/tickets.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const statesOf = async (round: { id: string }) => (await storedTickets(t, round)).map(({ state }) => state);
const paused = async () => (await sql<{ scope: string }>(t.app, 'select scope from chain_pauses')).map(({ scope }) => scope);

test('a ticket is accepted only when both RPC nodes have its payment, and waits without a pause while the second one does not answer', async () => {
  const payer = await newPayer(t);
  const round = await openRound(t, await signIn(t));
  const silent = await t.chain.control.fault({ kind: 'cut', node: 'second' });
  const signature = await payFor(t, payer, round);
  await untilFinal(t, signature);
  const asked = requestTicket(payer, round, signature);
  await retryUntilPass(async () => expect(await statesOf(round)).toEqual(['checking']));
  expect(await paused()).toEqual([]);
  await silent.clear();
  await asked;
  await retryUntilPass(async () => expect(await statesOf(round)).toEqual(['confirmed']), 30_000);
});

test('a payment that only the first RPC node has gives no ticket and pauses the checks of tickets until an operator resumes them', async () => {
  const payer = await newPayer(t);
  const round = await openRound(t, await signIn(t));
  await t.chain.control.split('apart');
  await t.chain.control.fault({ kind: 'drop', node: 'second' });
  const signature = await payFor(t, payer, round);
  await untilFinal(t, signature);
  await t.chain.control.advance(40);
  await requestTicket(payer, round, signature);
  await retryUntilPass(async () => expect(await paused()).toEqual(['contradiction:ticket']), 30_000);
  expect(await statesOf(round)).toEqual(['checking']);
  await t.app.tx((tx) => resume(tx, contradictionScope('ticket')));
});
