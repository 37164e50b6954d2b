import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getTicket, postTicket } from '#areas/lottery/legacy/routes.ts';
import { accountEntry, type Instruction, instruction } from '#platform/solana/primitives.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, memo, mintTo, TOKEN_PROGRAM, u64 } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import {
  balanceOf,
  inMs,
  newPayer,
  openAccount,
  openRound,
  type Payer,
  PURSE,
  pay,
  payFor,
  randomSignature,
  refundsOf,
  requestTicket,
  storedEntries,
  storedTickets,
  untilFinal,
  untilRefunded,
} from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let creator: SignedIn;
let round: Awaited<ReturnType<typeof openRound>>;
beforeAll(async () => {
  t = await startRoundsTest();
  creator = await signIn(t);
  round = await openRound(t, creator);
});
afterAll(() => t.close());

const answerOf = async (asked: Promise<Response>): Promise<[number, string]> => {
  const response = await asked;
  const body = (await response.json()) as { error?: string };
  return [response.status, body.error ?? ''];
};

test('a request for a paid ticket is answered when its transaction is finalized', async () => {
  const payer = await newPayer(t);
  const own = await openRound(t, creator);
  const signature = await payFor(t, payer, own);
  const { status, body, headers } = await clientOf(t, payer).ok(postTicket, { params: { id: own.id }, body: { transaction: signature } });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    status: 'confirmed',
    wallet: payer.wallet,
    ticketNumber: 0,
    transaction: { signature, status: 'finalized' },
    refunds: [],
  });
  const entry = { round: own.id, entry: body.ticketId, index: 0, source: 'chain', messageId: signature, numbers: [] };
  expect(body.receipt?.statement).toMatchObject({ ...entry, parametersHash: own.parametersHash });
  // The time of an entry is the time of its acceptance, which is after the payment.
  expect(Date.parse(body.receipt?.statement.at ?? '')).toBeGreaterThan(Date.parse(own.opensAt ?? ''));
  expect(headers.get('location')).toBe(`/round/${own.id}/tickets/${body.ticketId}`);
  expect((await clientOf(t).ok(getTicket, { params: { id: own.id, ticketId: body.ticketId } })).body).toEqual(body);

  const second = await newPayer(t);
  const { body: next } = await clientOf(t, second).ok(postTicket, { params: { id: own.id }, body: { transaction: await payFor(t, second, own) } });
  expect(next).toMatchObject({ ticketNumber: 1 });
  expect(await (await send(t, `/round/${own.id}`)).json()).toMatchObject({ entries: 2, prizePool: '2000' });
  const told = await sql<{ wallet: string }>(t.app, `select wallet from outbox where type = 'ticket_confirmed' and payload->>'ticketId' = $1`, [
    body.ticketId,
  ]);
  expect(told).toEqual([{ wallet: payer.wallet }]);
  expect(await answerOf(requestTicket(payer, own, signature))).toEqual([409, 'the transaction is already used for ticket 0 of this round']);
  expect(await refundsOf(t, signature)).toEqual([]);
});

test('a transfer without a mint check and a versioned transaction are valid payments', async () => {
  const payer = await newPayer(t);
  const { usdcMint, treasury } = t.chain.keys;
  const [from, to] = [payer.keys, treasury].map(({ publicKey }) => associatedTokenAddress(publicKey, usdcMint.publicKey));
  if (!from || !to) throw new Error('a transfer needs two token accounts');
  const accounts = [accountEntry(from, true), accountEntry(to, true), accountEntry(payer.keys.publicKey, false, true)];
  const transfer = instruction(TOKEN_PROGRAM, accounts, Buffer.concat([Buffer.from([3]), u64(1_000n)]));
  const unchecked = await t.chain.send([transfer, memo(round.id)], [payer.keys]);
  expect(await answerOf(requestTicket(payer, round, unchecked))).toEqual([201, '']);

  const signature = await t.chain.sendVersioned([memo(round.id), pay(t, payer.keys, 1_000n)], payer.keys);
  expect(await answerOf(requestTicket(payer, round, signature))).toEqual([201, '']);
});

/** Sends a transaction that does not pay correctly, and requests a ticket with it. @returns the answer and the refunds */
async function refused(payer: Payer, instructions: readonly Instruction[], others: readonly Payer['keys'][] = []) {
  const signature = await t.chain.send(instructions, [payer.keys, ...others]);
  const [status, reason] = await answerOf(requestTicket(payer, round, signature));
  const refunds = (await refundsOf(t, signature)).map(({ currency, amount }) => `${amount} ${currency}`);
  return { signature, answer: [status, reason], refunds };
}

test('a transaction that is not exactly the payment is refused, and the amount that the treasury received is refunded', async () => {
  const payer = await newPayer(t);
  const { mintAuthority, usdcMint, rewardMint, treasury } = t.chain.keys;
  const price = pay(t, payer.keys, 1_000n);
  const id = memo(round.id);
  const oneMemo = [409, 'the transaction must have exactly one memo: the id of this round'];
  const treasuryAccount = associatedTokenAddress(treasury.publicKey, usdcMint.publicKey);

  const less = await refused(payer, [pay(t, payer.keys, 999n), id]);
  expect(less).toMatchObject({ answer: [409, 'the transaction pays 999, but a ticket costs 1000'], refunds: ['999 usdc'] });
  const more = await refused(payer, [pay(t, payer.keys, 1_001n), id]);
  expect(more).toMatchObject({ answer: [409, 'the transaction pays 1001, but a ticket costs 1000'], refunds: ['1001 usdc'] });
  const without = await refused(payer, [price]);
  expect(without).toMatchObject({ answer: oneMemo, refunds: ['1000 usdc'] });
  const other = await refused(payer, [price, memo(creator.wallet)]);
  expect(other).toMatchObject({ answer: oneMemo, refunds: ['1000 usdc'] });
  const twice = await refused(payer, [price, pay(t, payer.keys, 500n), id]);
  expect(twice).toMatchObject({ answer: [409, 'the transaction must contain exactly one transfer to the treasury'], refunds: ['1500 usdc'] });
  const reward = await refused(payer, [pay(t, payer.keys, 1_000n, { mint: rewardMint.publicKey }), id]);
  expect(reward).toMatchObject({ answer: [409, 'the transaction pays in the wrong token'], refunds: ['1000 reward'] });
  const both = await refused(payer, [price, pay(t, payer.keys, 7n, { mint: rewardMint.publicKey }), id]);
  expect(both.refunds).toEqual(['1000 usdc', '7 reward']);
  const minted = await refused(payer, [price, mintTo(usdcMint.publicKey, treasuryAccount, mintAuthority.publicKey, 5n), id], [mintAuthority]);
  expect(minted).toMatchObject({
    answer: [409, 'the transaction must change the treasury’s balance by exactly the price'],
    refunds: ['1000 usdc'],
  });

  const all = [less, more, without, other, twice, reward, both, minted].map(({ signature }) => signature);
  await untilRefunded(t, all);
  expect(await balanceOf(t, payer.wallet)).toBe(PURSE);
  expect(await balanceOf(t, payer.wallet, 'reward')).toBe(PURSE);
  // A repeated request gets the same answer.
  expect(await answerOf(requestTicket(payer, round, without.signature))).toEqual(oneMemo);
  expect(await refundsOf(t, without.signature)).toHaveLength(1);
  const [stored] = await sql<{ id: string }>(t.app, 'select id::text from tickets where signature = $1', [without.signature]);
  const shown = await clientOf(t).ok(getTicket, { params: { id: round.id, ticketId: stored?.id ?? '' } });
  expect(shown.body).toMatchObject({
    status: 'refused',
    ticketNumber: null,
    receipt: null,
    refunds: [{ amount: '1000', currency: 'usdc', status: 'completed' }],
  });
});

test('a refused transaction without a payment of the wallet to the treasury has no refund', async () => {
  const [payer, other, stranger] = await Promise.all([newPayer(t), newPayer(t), t.chain.fundWallet()]);
  const id = memo(round.id);
  const must = [409, `the transaction must transfer the price to ${round.payTo?.tokenAccount}`];
  const elsewhere = await refused(payer, [
    openAccount(t, payer.keys, stranger.publicKey),
    pay(t, payer.keys, 1_000n, { to: stranger.publicKey }),
    id,
  ]);
  expect(elsewhere).toMatchObject({ answer: must, refunds: [] });
  const native = transferLamports(payer.keys.publicKey, t.chain.keys.treasury.publicKey, 1_000);
  expect(await refused(payer, [native, id])).toMatchObject({ answer: must, refunds: [] });
  // The requesting wallet pays the fee, but another wallet pays the price.
  const sponsored = await refused(payer, [pay(t, other.keys, 1_000n), id], [other.keys]);
  expect(sponsored).toMatchObject({ answer: [409, 'this wallet must be the authority of the transfer'], refunds: [] });
  const failed = await refused(payer, [pay(t, payer.keys, 2n * PURSE), id]);
  expect(failed).toMatchObject({ answer: [409, 'the transaction failed'], refunds: [] });
  // The same transaction is a valid payment of the other wallet.
  expect(await answerOf(requestTicket(other, round, sponsored.signature))).toEqual([201, '']);
});

test('two wallets that pay in one transaction each get their own refund', async () => {
  const [payer, other] = await Promise.all([newPayer(t), newPayer(t)]);
  const { signature, refunds } = await refused(payer, [pay(t, payer.keys, 1_000n), pay(t, other.keys, 300n), memo(round.id)], [other.keys]);
  expect(refunds).toEqual(['1000 usdc']);
  expect((await answerOf(requestTicket(other, round, signature)))[0]).toBe(409);
  expect((await refundsOf(t, signature)).map(({ wallet, amount }) => [wallet, amount])).toEqual([
    [payer.wallet, '1000'],
    [other.wallet, '300'],
  ]);
});

test('a request with another wallet’s transaction is refused and does not block the payer’s own request', async () => {
  const [payer, thief] = await Promise.all([newPayer(t), newPayer(t)]);
  const signature = await payFor(t, payer, round);
  expect(await answerOf(requestTicket(thief, round, signature))).toEqual([409, 'the transaction must be signed by this wallet']);
  expect(await answerOf(requestTicket(payer, round, signature))).toEqual([201, '']);
  expect(await refundsOf(t, signature)).toEqual([]);
});

test('a payment after the closing time is refunded, and so is a payment that is named after the close', async () => {
  const payer = await newPayer(t);
  const short = await openRound(t, creator, { closesAt: inMs(t, 1_500) });
  const early = await untilFinal(t, await payFor(t, payer, short));
  await untilState(t, short.id, 'void');
  // Block times have whole seconds.
  await retryUntilPass(() => expect(t.clock.now().getTime()).toBeGreaterThan(Date.parse(short.closesAt ?? '') + 1_000));
  const late = await payFor(t, payer, short);
  expect(await answerOf(requestTicket(payer, short, late))).toEqual([409, 'the payment was made after the round’s closing time']);
  expect((await answerOf(requestTicket(payer, short, early)))[0]).toBe(409);
  await untilRefunded(t, [early, late]);
  expect(await balanceOf(t, payer.wallet)).toBe(PURSE);
  expect(await storedEntries(t, short)).toEqual([]);
});

test('an unknown transaction is finally refused and can be named again', async () => {
  const payer = await newPayer(t);
  const signature = await untilFinal(t, await payFor(t, payer, round));
  const insert = `insert into tickets (id, round, wallet, signature, state, reason, decided_at) values (gen_random_uuid(), $1, $2, $3, 'refused', 'lost', app_now())`;
  await sql(t.app, insert, [round.id, payer.wallet, signature]);
  expect(await answerOf(requestTicket(payer, round, signature))).toEqual([201, '']);

  const unknown = randomSignature();
  const asked = await requestTicket(payer, round, unknown, { Prefer: 'respond-async' });
  const location = asked.headers.get('location') ?? '';
  expect([asked.status, await asked.json()]).toMatchObject([202, { status: 'checking', transaction: { signature: unknown, status: 'pending' } }]);
  await sql(t.app, `update tickets set asked_at = app_now() - interval '11 minutes', next_at = app_now() where signature = $1`, [unknown]);
  await retryUntilPass(async () => {
    expect(await (await send(t, location)).json()).toMatchObject({
      ...{ status: 'refused', reason: 'the chain does not know the transaction', refunds: [], transaction: { status: 'not-found' } },
    });
  }, 30_000);
  const again = await requestTicket(payer, round, unknown, { Prefer: 'wait=0' });
  expect([again.status, again.headers.get('location')]).toEqual([202, location]);
});

test('a malformed or missing signature is refused with 400 and stores nothing', async () => {
  const payer = await newPayer(t);
  const before = (await storedTickets(t, round)).length;
  const malformed = [400, 'transaction must be the signature of a transaction (base58 of 64 bytes)'];
  expect(await answerOf(requestTicket(payer, round, 'short'))).toEqual(malformed);
  expect(await answerOf(requestTicket(payer, round, '0'.repeat(88)))).toEqual(malformed);
  expect(await answerOf(payer.fetch(`/round/${round.id}/ticket`, { json: {} }))).toEqual([
    400,
    'transaction is required, because a ticket costs 1000',
  ]);
  expect((await send(t, `/round/${round.id}/ticket`, { json: {} })).status).toBe(401);
  expect(await storedTickets(t, round)).toHaveLength(before);
  await sql(
    t.app,
    `insert into tickets (id, round, wallet, signature, state) select gen_random_uuid(), $1, $2, 'test-' || n, 'checking' from generate_series(1, 50) n`,
    [round.id, payer.wallet],
  );
  const many = await requestTicket(payer, round, randomSignature());
  expect([many.status, many.headers.get('retry-after')]).toEqual([429, '15']);
  await sql(t.app, `update tickets set state = 'refused', reason = 'test', decided_at = app_now() where signature like 'test-%'`);
});
