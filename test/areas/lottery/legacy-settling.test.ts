import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postTicket } from '#areas/lottery/legacy/routes.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { askTicket, inMs, newPayer, openRound, payFor, storedEntries, storedTickets, untilRefunded } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { signIn } from '#test/support/wallet.ts';

/** Transactions are final four seconds after their block, long after the rounds of these tests have closed. */
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

test('a ticket that was paid and named in time counts, though it is final only after the close', async () => {
  const [creator, payer] = await Promise.all([signIn(t), newPayer(t)]);
  const round = await openRound(t, creator, { closesAt: inMs(t, 1_500) });
  const transaction = await payFor(t, payer, round);
  const answer = await clientOf(t, payer).ok(postTicket, { params: { id: round.id }, body: { transaction } });
  expect(answer).toMatchObject({ status: 201, body: { ticketNumber: 0 } });
  expect(t.clock.now().getTime()).toBeGreaterThan(Date.parse(round.closesAt ?? ''));
  await untilState(t, round.id, 'closing');
  expect(await storedEntries(t, round)).toHaveLength(1);
});

test('a round waits for nobody that was named after its close', async () => {
  const [creator, payer] = await Promise.all([signIn(t), newPayer(t)]);
  const round = await openRound(t, creator, { closesAt: inMs(t, 500) });
  const transaction = await payFor(t, payer, round);
  await untilState(t, round.id, 'void');
  const asked = await askTicket(payer, round, transaction, { Prefer: 'respond-async' });
  expect(asked.status).toBe(202);
  await untilRefunded(t, [transaction]);
  expect((await storedTickets(t, round)).map(({ state }) => state)).toEqual(['refused']);
});
