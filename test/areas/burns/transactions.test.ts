import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { endEvent } from '#areas/burns/lifecycle.ts';
import type { BurnEventRow } from '#areas/burns/rows.ts';
import { BurnTransaction } from '#areas/burns/schemas.ts';
import { BUILD_LIMIT } from '#areas/burns/unsigned-transaction.ts';
import { rateLimitKey } from '#platform/auth/rate-limit.ts';
import { activateNewEvent, createTestEvent, endActive, ingestFinal, readBurns, tokenAccountOf } from '#test/support/areas/burns.ts';
import { statusAndBody } from '#test/support/areas/epochs.ts';
import { newPayer } from '#test/support/areas/tickets.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { decodeTransaction } from '#test/support/solana/unsigned.ts';
import { send, signIn } from '#test/support/wallet.ts';

type Payer = Awaited<ReturnType<typeof newPayer>>;
let t: RewardsTest;
let event: BurnEventRow;
let me: Payer;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  event = await activateNewEvent(t.app);
  me = await newPayer(t);
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const pathOf = (id: string) => `/events/burn/${id}/transaction`;
const request = (json: unknown = { amount: '700', source: 'game' }, who: Pick<Payer, 'fetch'> = me, id = event.id) =>
  who.fetch(pathOf(id), { method: 'POST', json });

test('a built transaction burns the amount with the memo of the event, and counts after the wallet has signed and sent it', async () => {
  const built = await jsonOf(request(), BurnTransaction);
  const account = tokenAccountOf(t, me.keys).toBase58();
  expect(built).toMatchObject({ memo: `burn:${event.id}:game`, mint: event.mint, tokenAccount: account, amount: '700' });
  const transaction = decodeTransaction(built.transaction);
  expect(transaction.signatures).toEqual([new Uint8Array(64)]);
  expect(transaction.message.staticAccountKeys[0]?.toBase58()).toBe(me.wallet);
  expect(transaction.message.header).toMatchObject({ numRequiredSignatures: 1 });
  expect(transaction.message.recentBlockhash).toBe(built.blockhash);
  expect(built.lastValidBlockHeight).toBeGreaterThan(await t.chain.connection.getBlockHeight());
  expect(transaction.message.compiledInstructions).toHaveLength(2);

  transaction.sign([me.keys]);
  const signature = await t.chain.connection.sendRawTransaction(transaction.serialize());
  await ingestFinal(t, [signature]);
  const index = 0;
  expect(await readBurns(t.app, event)).toEqual([{ signature, index, wallet: me.wallet, amount: '700', named: 'game', source: null }]);
});

test('an invalid amount or source gets 400, and an unknown event 404', async () => {
  const amount = 'amount must be a whole number of base units, as text, from 1 to 18446744073709551615';
  const source = 'source must be one of referral, game, social';
  const cases: [unknown, string][] = [
    ...['0', '-1', '1.5', '01', '', ' 1', '1e3', '18446744073709551616', 700].map((value): [unknown, string] => [
      { amount: value, source: 'game' },
      amount,
    ]),
    [{ amount: '1', source: 'total' }, source],
    [{ amount: '1' }, source],
    [{ source: 'game' }, amount],
    [{ amount: '1', source: 'game', mint: event.mint }, 'mint is not a known field'],
  ];
  for (const [json, error] of cases) expect(await statusAndBody(request(json))).toEqual([400, { error }]);
  expect(await statusAndBody(request(undefined, me, crypto.randomUUID()))).toEqual([404, { error: 'there is no such burn event' }]);
  expect((await request(undefined, me, 'nothing')).status).toBe(404);
  expect((await send(t, pathOf(event.id), { method: 'POST', json: { amount: '1', source: 'game' } })).status).toBe(401);
});

test('a wallet without enough tokens gets 409', async () => {
  const account = tokenAccountOf(t, me.keys).toBase58();
  const more = `the wallet’s token account ${account} holds 999999300 base units, which is less than amount`;
  const held = await t.chain.connection.getTokenAccountBalance(tokenAccountOf(t, me.keys));
  const [status, body] = await statusAndBody(request({ amount: '18446744073709551615', source: 'social' }));
  expect([status, body]).toEqual([409, { error: more.replace('999999300', held.value.amount) }]);
  expect((await request({ amount: held.value.amount, source: 'social' })).status).toBe(200);
  const poor = await signIn(t);
  const [, refusal] = await statusAndBody(request(undefined, poor));
  expect(refusal).toMatchObject({ error: expect.stringContaining('holds 0 base units, which is less than amount') });
});

test('an RPC node that does not answer gives 503', async () => {
  await t.chain.control.fault({ kind: 'fail' });
  const response = await request();
  expect([response.status, await response.json()]).toEqual([503, { error: 'the RPC node does not answer at the moment, try again' }]);
  expect(response.headers.get('Retry-After')).toBe('2');
});

test('a wallet that builds too many transactions gets 429', async () => {
  const limited = await newPayer(t);
  const key = rateLimitKey(t.app, BUILD_LIMIT, limited.wallet);
  await t.app.redis.set(key, BUILD_LIMIT.max - 1, 'PX', 60_000);
  expect((await request(undefined, limited)).status).toBe(200);
  expect((await request(undefined, limited)).status).toBe(429);
});

test('an event that is pending or ended gets 409', async () => {
  const pending = await createTestEvent(t.app);
  const error = (status: string) => ({ error: `the burn event is ${status}; only burns of an active event count` });
  expect(await statusAndBody(request(undefined, me, pending.id))).toEqual([409, error('pending')]);
  await endEvent(t.app, event.id);
  expect(await statusAndBody(request())).toEqual([409, error('ended')]);
  await endActive(t.app);
});
