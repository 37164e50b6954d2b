import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postTicket } from '#areas/lottery/legacy/routes.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { inMs, newPayer, openRound, payFor, requestTicket, storedEntries, storedTickets, untilRefunded } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { signIn } from '#test/support/wallet.ts';

/** Slots of 10 ms until a transaction is finalized: 4 s, so that finalization follows the closing time of these rounds. */
const FINALIZED_AFTER = 400;

let chain: TestChain;
let t: RewardsTest;
beforeAll(async () => {
  chain = await startTestChain({ finalizedAfter: FINALIZED_AFTER });
  t = await startRoundsTest({ chain });
}, 60_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

test('a ticket that was paid and requested in time is accepted when its transaction is finalized after the closing time', async () => {
  const [creator, payer] = await Promise.all([signIn(t), newPayer(t)]);
  const round = await openRound(t, creator, { closesAt: inMs(t, 1_500) });
  const transaction = await payFor(t, payer, round);
  const answer = await clientOf(t, payer).ok(postTicket, { params: { id: round.id }, body: { transaction } });
  expect(answer).toMatchObject({ status: 201, body: { ticketNumber: 0 } });
  expect(t.clock.now().getTime()).toBeGreaterThan(Date.parse(round.closesAt ?? ''));
  await untilState(t, round.id, 'closing');
  expect(await storedEntries(t, round)).toHaveLength(1);
});

test('a round does not wait for a ticket that was requested after its closing time', async () => {
  const [creator, payer] = await Promise.all([signIn(t), newPayer(t)]);
  const round = await openRound(t, creator, { closesAt: inMs(t, 500) });
  const transaction = await payFor(t, payer, round);
  await untilState(t, round.id, 'void');
  const asked = await requestTicket(payer, round, transaction, { Prefer: 'respond-async' });
  expect(asked.status).toBe(202);
  await untilRefunded(t, [transaction]);
  expect((await storedTickets(t, round)).map(({ state }) => state)).toEqual(['refused']);
});
