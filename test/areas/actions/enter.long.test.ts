import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findTicketPayments } from '#areas/lottery';
import { postTicket } from '#areas/lottery/legacy/routes.ts';
import { memo } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asAdmin, startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import {
  balanceOf,
  inMs,
  newPayer,
  openRound,
  type Payer,
  PURSE,
  pay,
  payFor,
  refundsOf,
  storedEntries,
  storedTickets,
  untilRefunded,
} from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { openAction, requestTransaction, signAndSend } from '#test/support/solana/actions.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let creator: SignedIn;
beforeAll(async () => {
  t = await startRoundsTest();
  creator = await signIn(t);
});
afterAll(() => t.close());

const newBuyer = () => t.chain.fundWallet({ lamports: 1_000_000_000, usdc: PURSE });
const post = async (round: string, account: string) => {
  const { status, body } = await requestTransaction(t.url, `/actions/rounds/${round}/enter`, account);
  return [status, body.message];
};
/** Waits until a round has a number of tickets and none of them is being checked. */
async function untilTickets(round: { id: string }, count: number) {
  let tickets: Awaited<ReturnType<typeof storedTickets>> = [];
  await retryUntilPass(async () => {
    tickets = await storedTickets(t, round);
    if (tickets.length !== count || tickets.some(({ state }) => state === 'checking')) throw new Error(JSON.stringify(tickets));
  }, 30_000);
  return tickets;
}

test('a wallet without a session buys a ticket from the page of a round, and the service finds the payment and confirms the ticket', async () => {
  const round = await openRound(t, creator);
  const { path, status, body } = await openAction(t.url, `/share/round/${round.id}`);
  expect([path, status]).toEqual([`/actions/rounds/${round.id}/enter`, 200]);
  expect(body).toMatchObject({ type: 'action', label: 'Enter for 0.001 USDC', disabled: false, title: `Ticket round ${round.id.slice(0, 8)}` });
  expect(body.icon).toBe(`http://coinop.test/social/round/${round.id}/card.png`);
  const icon = await fetch(body.icon.replace('http://coinop.test', t.url));
  expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/png']);

  const buyer = await newBuyer();
  const wallet = buyer.publicKey.toBase58();
  const answer = await requestTransaction(t.url, body.links?.actions[0]?.href ?? '', wallet);
  expect([answer.status, answer.body.message]).toEqual([200, `You pay 0.001 USDC for one ticket of Ticket round ${round.id.slice(0, 8)}.`]);
  const signature = await signAndSend(t.chain.connection, answer.body, buyer);
  expect(await untilTickets(round, 1)).toMatchObject([{ wallet, signature, state: 'confirmed', reason: null }]);
  expect(await storedEntries(t, round)).toMatchObject([{ wallet, messageId: signature, source: 'chain' }]);
  expect(await refundsOf(t, signature)).toEqual([]);
  expect(await (await send(t, `/round/${round.id}`)).json()).toMatchObject({ entries: 1, prizePool: '1000' });
});

test('a payment that a wallet named itself, and that is found too, gives one ticket', async () => {
  const [round, payer] = [await openRound(t, creator), await newPayer(t)];
  const signature = await payFor(t, payer, round);
  const { body } = await clientOf(t, payer).ok(postTicket, { params: { id: round.id }, body: { transaction: signature } });
  expect(body.status).toBe('confirmed');
  const other = await newPayer(t);
  const second = await payFor(t, other, round);
  await untilTickets(round, 2);
  const named = await clientOf(t, other).ok(postTicket, { params: { id: round.id }, body: { transaction: second } });
  expect([named.status, named.body]).toEqual([201, expect.objectContaining({ status: 'confirmed', ticketNumber: 1 })]);
  await Promise.all([findTicketPayments(t.app), findTicketPayments(t.app), findTicketPayments(t.app)]);
  expect(await untilTickets(round, 2)).toHaveLength(2);
});

test('the action is refused with the reason when the round is unknown, free, full, closing, closed or has rules that the wallet does not meet', async () => {
  const buyer = (await newBuyer()).publicKey.toBase58();
  expect(await post('0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', buyer)).toEqual([404, 'no round that sells tickets has this id']);
  const free = await openRound(t, creator, { ticketPrice: '0' });
  expect(await post(free.id, buyer)).toEqual([409, 'the tickets of the round are free; sign in to get one']);
  const closing = await openRound(t, creator, { closesAt: inMs(t, 50_000) });
  expect(await post(closing.id, buyer)).toEqual([409, 'the round closes in less than a minute, so a payment would be late']);
  const ruled = await openRound(t, creator, { entryRules: { minAcceptedScores: 2 } });
  expect(await post(ruled.id, buyer)).toEqual([403, 'minAcceptedScores: the wallet must have at least 2 accepted scores']);
  const round = await openRound(t, creator, { ticketPrice: '5000000000' });
  expect(await post(round.id, buyer)).toEqual([409, expect.stringMatching(/holds 1000000000 base units, but a ticket costs 5000000000$/)]);
  expect(await post(round.id, createWallet().address)).toEqual([409, expect.stringContaining('holds 0 base units')]);
  const full = await openRound(t, creator, { maxTickets: 1 });
  await payFor(t, await newPayer(t), full);
  await untilTickets(full, 1);
  expect(await post(full.id, buyer)).toEqual([409, 'all 1 tickets of the round are taken']);
  const { body } = await openAction(t.url, `/share/round/${full.id}`);
  expect(body).toMatchObject({ disabled: true, error: { message: 'all 1 tickets of the round are taken' } });
  await creator.fetch(`/round/${full.id}/finalize`, { method: 'POST' });
  await untilState(t, full.id, 'finalized', 60_000);
  expect(await post(full.id, buyer)).toEqual([409, 'the round is closed']);
});

test('a payment without a request that is late, over the limit, against a rule or of a banned wallet is refunded, once', async () => {
  const [full, ruled, closed, banned] = await Promise.all([
    openRound(t, creator, { maxTickets: 1 }),
    openRound(t, creator, { entryRules: { minAcceptedScores: 2 } }),
    openRound(t, creator),
    openRound(t, creator),
  ]);
  const first = await newPayer(t);
  await payFor(t, first, full);
  await untilTickets(full, 1);
  await payFor(t, first, closed);
  await untilTickets(closed, 1);
  await creator.fetch(`/round/${closed.id}/finalize`, { method: 'POST' });
  const [late, over, against, bad] = await Promise.all([newPayer(t), newPayer(t), newPayer(t), newPayer(t)]);
  const ban = await send(t, `/admin/wallets/${bad.wallet}/ban`, { method: 'POST', headers: asAdmin, json: { reason: 'a test' } });
  expect(ban.status).toBe(200);
  expect(await post(banned.id, bad.wallet)).toEqual([403, 'ban: the wallet is banned']);
  const pairs: [Payer, typeof full][] = [
    [late, closed],
    [over, full],
    [against, ruled],
    [bad, banned],
  ];
  const signatures = await Promise.all(pairs.map(([payer, round]) => payFor(t, payer, round)));
  await untilRefunded(t, signatures);
  for (const signature of signatures) expect(await refundsOf(t, signature)).toMatchObject([{ currency: 'usdc', amount: '1000', state: 'completed' }]);
  for (const [{ wallet }] of pairs) expect(await balanceOf(t, wallet)).toBe(PURSE);
  const reasons = await sql<{ reason: string }>(t.app, 'select reason from tickets where signature = any($1) order by reason', [signatures]);
  expect(reasons.map(({ reason }) => reason)).toEqual([
    'all 1 tickets of the round are taken',
    'ban: the wallet is banned',
    'minAcceptedScores: the wallet must have at least 2 accepted scores',
    'the round is closed',
  ]);
});

test('transactions that only name a round, pay another amount or belong to no round leave no ticket', async () => {
  const [round, payer] = [await openRound(t, creator), await newPayer(t)];
  await t.chain.send([pay(t, payer.keys, 999n), memo(round.id)], [payer.keys]);
  await t.chain.send([pay(t, payer.keys, 1_000n)], [payer.keys]);
  await t.chain.send([pay(t, payer.keys, 1_000n), memo(round.id), memo(round.id)], [payer.keys]);
  await t.chain.send([pay(t, payer.keys, 1_000n), memo('0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a')], [payer.keys]);
  const last = await payFor(t, payer, round);
  expect(await untilTickets(round, 1)).toMatchObject([{ signature: last }]);
  await retryUntilPass(async () => {
    const unread = await sql(t.app, 'select 1 from ticket_payments where read_at is null');
    expect(unread).toEqual([]);
  });
  expect(await storedTickets(t, round)).toHaveLength(1);
});
