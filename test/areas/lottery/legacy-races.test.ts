import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkTicket } from '#areas/lottery/legacy/check.ts';
import { getTicket, postTicket } from '#areas/lottery/legacy/routes.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import {
  balanceOf,
  newPayer,
  openRound,
  PURSE,
  payFor,
  refundsOf,
  requestTicket,
  storedEntries,
  storedTickets,
  untilFinal,
  untilRefunded,
} from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { findKeys } from '#test/support/redis-keys.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let creator: SignedIn;
beforeAll(async () => {
  t = await startRoundsTest();
  creator = await signIn(t);
});
afterAll(() => t.close());

const statusesOf = async (answers: readonly Promise<Response>[]) => (await Promise.all(answers)).map(({ status }) => status).sort();

test('one transaction gives one ticket, also with fifty concurrent requests, other wallets and other rounds', async () => {
  const [payer, other] = await Promise.all([newPayer(t), newPayer(t)]);
  const [round, elsewhere] = [await openRound(t, creator), await openRound(t, creator)];
  const signature = await payFor(t, payer, round);
  const first = Array.from({ length: 50 }, () => requestTicket(payer, round, signature));
  const [answers, stolen] = await Promise.all([
    statusesOf(first),
    statusesOf([requestTicket(other, round, signature), requestTicket(other, elsewhere, signature)]),
  ]);
  expect(answers.filter((status) => status === 201).length).toBeGreaterThan(0);
  expect(answers.every((status) => status === 201 || status === 409)).toBe(true);
  expect(stolen).toEqual([409, 409]);
  expect((await requestTicket(payer, elsewhere, signature)).status).toBe(409);
  expect(await storedEntries(t, round)).toMatchObject([{ index: 0, wallet: payer.wallet, source: 'chain', messageId: signature }]);
  expect(await storedEntries(t, elsewhere)).toEqual([]);
  expect((await storedTickets(t, round)).filter(({ state }) => state === 'confirmed')).toHaveLength(1);
  expect(await refundsOf(t, signature)).toEqual([]);
});

test('a transaction that is named for two rounds concurrently becomes a ticket or a refund, never both', async () => {
  const payer = await newPayer(t);
  const [round, elsewhere] = [await openRound(t, creator), await openRound(t, creator)];
  const signature = await payFor(t, payer, round);
  await statusesOf([requestTicket(payer, elsewhere, signature), requestTicket(payer, round, signature)]);
  const entries = [...(await storedEntries(t, round)), ...(await storedEntries(t, elsewhere))];
  expect(entries.length + (await refundsOf(t, signature)).length).toBe(1);
});

test('a request waits for a transaction that is not finalized, and repeated requests return the same ticket', async () => {
  const payer = await newPayer(t);
  const round = await openRound(t, await signIn(t));
  await t.chain.control.pause();
  const signature = await payFor(t, payer, round);
  const client = clientOf(t, payer);
  const ask = (prefer: string) => client.ok(postTicket, { params: { id: round.id }, body: { transaction: signature }, headers: { Prefer: prefer } });
  const first = await ask('wait=1');
  expect(first).toMatchObject({
    status: 202,
    body: { status: 'checking', ticketNumber: null, receipt: null, transaction: { signature, status: 'pending' } },
  });
  expect(first.headers.get('location')).toBe(`/round/${round.id}/tickets/${first.body.ticketId}`);
  const again = await ask('respond-async');
  expect([again.status, again.body]).toEqual([202, first.body]);
  expect(await storedEntries(t, round)).toEqual([]);
  await t.chain.control.resume();
  await retryUntilPass(async () => {
    const { body } = await client.ok(getTicket, { params: { id: round.id, ticketId: first.body.ticketId } });
    expect(body).toMatchObject({ status: 'confirmed', ticketNumber: 0 });
  }, 30_000);
});

test('a ticket stays undecided while the RPC node does not answer', async () => {
  const payer = await newPayer(t);
  const round = await openRound(t, await signIn(t));
  const signature = await untilFinal(t, await payFor(t, payer, round));
  const down = await t.chain.control.fault({ kind: 'fail', methods: ['getTransaction'] });
  expect((await requestTicket(payer, round, signature, { Prefer: 'wait=2' })).status).toBe(202);
  expect(await storedTickets(t, round)).toMatchObject([{ state: 'checking' }]);
  await down.clear();
  expect((await requestTicket(payer, round, signature)).status).toBe(201);
});

test('tickets above a round’s maximum are refused and refunded', async () => {
  const payers = await Promise.all(Array.from({ length: 5 }, () => newPayer(t)));
  const round = await openRound(t, await signIn(t), { maxTickets: 2 });
  const paid = await Promise.all(payers.map(async (payer) => ({ payer, signature: await payFor(t, payer, round) })));
  const statuses = await statusesOf(paid.map(({ payer, signature }) => requestTicket(payer, round, signature)));
  expect(statuses).toEqual([201, 201, 409, 409, 409]);
  const tickets = await storedTickets(t, round);
  const refused = tickets.filter(({ state }) => state === 'refused');
  expect(refused.map(({ reason }) => reason)).toEqual(Array(3).fill('all 2 tickets of the round are taken'));
  await untilRefunded(
    t,
    refused.map(({ signature }) => signature ?? ''),
  );
  const purses = await Promise.all(payers.map(({ wallet }) => balanceOf(t, wallet)));
  expect(purses.filter((purse) => purse === PURSE)).toHaveLength(3);
  expect((await storedEntries(t, round)).map(({ index }) => index)).toEqual([0, 1]);
});

test('a payment that races with the close becomes a ticket or a refund', async () => {
  const payers = await Promise.all(Array.from({ length: 4 }, () => newPayer(t)));
  const owner = await signIn(t);
  const round = await openRound(t, owner);
  const paid = await Promise.all(payers.map(async (payer) => ({ payer, signature: await untilFinal(t, await payFor(t, payer, round)) })));
  const [one, ...others] = paid;
  if (!one) throw new Error('there is no payer');
  expect((await requestTicket(one.payer, round, one.signature)).status).toBe(201);
  const answers = others.map(({ payer, signature }) => requestTicket(payer, round, signature));
  expect((await owner.fetch(`/round/${round.id}/finalize`, { method: 'POST' })).status).toBe(202);
  const statuses = await statusesOf(answers);
  const late = (await storedTickets(t, round)).filter(({ state }) => state === 'refused');
  expect(statuses.filter((status) => status === 201)).toHaveLength(3 - late.length);
  expect(await storedEntries(t, round)).toHaveLength(4 - late.length);
  await untilRefunded(
    t,
    late.map(({ signature }) => signature ?? ''),
  );
});

test('a ticket is decided despite a killed worker and a lost queue', async () => {
  const quiet = await startRoundsTest({ workers: false, chain: t.chain });
  try {
    const payer = await newPayer(quiet);
    const round = await openRound(quiet, payer);
    const signature = await untilFinal(t, await payFor(t, payer, round));
    const asked = await requestTicket(payer, round, signature, { Prefer: 'respond-async' });
    expect(asked.status).toBe(202);
    const keys = await findKeys(quiet.app.redis, `*${quiet.env.REDIS_PREFIX}*rounds*`);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) await quiet.app.redis.unlink(key);

    // The first worker stops before it has decided the ticket; the next worker finds the row.
    const dying = await startWorker(quiet.env, quiet.clock);
    await dying.close();
    const worker = await startWorker(quiet.env, quiet.clock);
    try {
      await retryUntilPass(async () => {
        expect(await (await send(quiet, asked.headers.get('location') ?? '')).json()).toMatchObject({ status: 'confirmed', ticketNumber: 0 });
      }, 30_000);
    } finally {
      await worker.close();
    }
    expect(await storedEntries(quiet, round)).toHaveLength(1);
  } finally {
    await quiet.close();
  }
});

test('concurrent checks of a ticket decide it once', async () => {
  const payer = await newPayer(t);
  const round = await openRound(t, await signIn(t));
  const signature = await untilFinal(t, await payFor(t, payer, round));
  const wrong = await untilFinal(t, await payFor(t, payer, round, 17n));
  const id = async (one: string) => {
    const asked = await requestTicket(payer, round, one, { Prefer: 'respond-async' });
    return asked.headers.get('location')?.split('/').at(-1) ?? '';
  };
  const ids = [await id(signature), await id(wrong)];
  await Promise.all(Array.from({ length: 10 }, (_, n) => checkTicket(t.app, ids[n % 2] ?? '')));
  expect(await storedEntries(t, round)).toHaveLength(1);
  expect(await refundsOf(t, wrong)).toMatchObject([{ amount: '17' }]);
  expect(await refundsOf(t, signature)).toEqual([]);
  const events = await sql<{ type: string }>(t.app, `select type from outbox where type like 'ticket_%' and payload->>'roundId' = $1 order by type`, [
    round.id,
  ]);
  expect(events.map(({ type }) => type)).toEqual(['ticket_confirmed', 'ticket_refused']);
});
