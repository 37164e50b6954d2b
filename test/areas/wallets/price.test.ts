import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { untilReady } from '#platform/redis/connection.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { testRedisUrl } from '#test/support/database.ts';
import { type PriceAnswer, type PriceServer, startPriceServer } from '#test/support/servers/price-server.ts';
import { openGate } from '#test/support/servers/tcp-gate.ts';
import { send } from '#test/support/wallet.ts';

let source: PriceServer;
let elsewhere: PriceServer;
let t: TestApp;
beforeAll(async () => {
  [source, elsewhere] = await Promise.all([startPriceServer(), startPriceServer()]);
  t = await startTestApp({ workers: false, env: { PRICE_URL: source.url } });
});
afterAll(async () => {
  await t.close();
  await Promise.all([source.close(), elsewhere.close()]);
});
afterEach(async () => {
  // What one test has left is too old for the next.
  source.say(142.31);
  await later(11 * 60);
});

const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const ask = (of: Pick<TestApp, 'url'> = t) => send(of, '/api/price/sol');
const priceNow = async (of?: Pick<TestApp, 'url'>) => {
  const response = await ask(of);
  return { status: response.status, ...((await response.json()) as object) };
};
const redisKey = () => `${t.env.REDIS_PREFIX}:last-good:price:sol`;

test('the price is one field, and may be kept for as long as it is fresh', async () => {
  const response = await ask();
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ price: 142.31 });
  expect(response.headers.get('Cache-Control')).toMatch(/^public, max-age=(?:29|30)$/);
  await later(20);
  const again = await ask();
  expect(again.headers.get('Cache-Control')).toMatch(/^public, max-age=(?:9|10)$/);
  const etag = again.headers.get('ETag') ?? '';
  expect((await send(t, '/api/price/sol', { headers: { 'If-None-Match': etag } })).status).toBe(304);
});

test('the source is asked once in 30 seconds, by all processes together', async () => {
  const other = await startApi(t.env, t.clock);
  try {
    const before = source.asked;
    const answers = await Promise.all(Array.from({ length: 20 }, () => priceNow()));
    expect(answers).toEqual(answers.map(() => ({ status: 200, price: 142.31 })));
    source.say(150);
    expect(await priceNow(other)).toEqual({ status: 200, price: 142.31 });
    await later(29);
    expect(await priceNow()).toEqual({ status: 200, price: 142.31 });
    expect(source.asked - before).toBe(1);
    await later(2);
    expect(await priceNow(other)).toEqual({ status: 200, price: 150 });
    expect(await priceNow()).toEqual({ status: 200, price: 150 });
    expect(source.asked - before).toBe(2);
  } finally {
    await other.close();
  }
});

test('when Redis goes away, each process asks for itself', async () => {
  const way = await openGate(new URL(testRedisUrl()).pathname);
  const alone = await startApi({ ...t.env, REDIS_URL: `redis://127.0.0.1:${way.port}` }, t.clock);
  try {
    await way.shut();
    const before = source.asked;
    expect(await priceNow(alone)).toEqual({ status: 200, price: 142.31 });
    expect(await priceNow(alone)).toEqual({ status: 200, price: 142.31 });
    expect(source.asked - before).toBe(1);
    source.answer('drops');
    await later(31);
    expect(await priceNow(alone)).toEqual({ status: 200, price: 142.31 });
    await way.open();
    await untilReady(alone.app.redis);
  } finally {
    await alone.close();
    await way.close();
  }
});

const says = (body: string): PriceAnswer => ({ status: 200, body });
const FAILURES: [string, PriceAnswer | (() => PriceAnswer)][] = [
  ['drops the connection', 'drops'],
  ['asks us to come less often', { status: 429, body: '{"status":{"error_code":429}}', headers: { 'Retry-After': '60' } }],
  ['fails', { status: 500, body: 'oops' }],
  ['is being serviced', { status: 503, body: '' }],
  ['is not found', { status: 404, body: JSON.stringify({ solana: { usd: 1 } }) }],
  ['answers with no content', { status: 204, body: '' }],
  ['answers with nothing', says('')],
  ['answers with a page', says('<html>Just a moment…</html>')],
  ['breaks off', says('{"solana":{"usd":14')],
  ['answers with null', says('null')],
  ['answers for another coin', says('{"bitcoin":{"usd":1}}')],
  ['answers without a price', says('{"solana":{}}')],
  ['answers zero', says('{"solana":{"usd":0}}')],
  ['answers less than zero', says('{"solana":{"usd":-1}}')],
  ['answers no number', says('{"solana":{"usd":NaN}}')],
  ['answers null for the price', says('{"solana":{"usd":null}}')],
  ['answers text for the price', says('{"solana":{"usd":"142.31"}}')],
  ['answers with more than a number holds', says('{"solana":{"usd":1e999}}')],
  ['answers without end', 'floods'],
  ['sends us elsewhere', () => ({ status: 302, body: '', headers: { Location: elsewhere.url } })],
];

test.each(FAILURES)('when the source %s, the last good price stands in for 10 minutes, then it is 503', async (_what, failure) => {
  await priceNow();
  source.answer(typeof failure === 'function' ? failure() : failure);
  await later(31);
  const standIn = await ask();
  expect([standIn.status, await standIn.json()]).toEqual([200, { price: 142.31 }]);
  expect(standIn.headers.get('Cache-Control')).toBe('public, max-age=5');
  await later(9 * 60);
  expect(await priceNow()).toEqual({ status: 200, price: 142.31 });
  await later(31);
  const none = await ask();
  expect([none.status, await none.json()]).toEqual([503, { error: 'the price of SOL is not known at the moment, try again' }]);
  expect(none.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  expect(none.headers.get('Cache-Control')).toBe('no-store');
  source.say(143.5);
  await later(6);
  expect(await priceNow()).toEqual({ status: 200, price: 143.5 });
  expect(elsewhere.asked).toBe(0);
});

test('a source that hangs, or begins and never ends, is not waited for while there is a price, and not for long without', async () => {
  const trials = await Promise.all(
    (['hangs', 'stalls'] as const).map(async (how) => {
      const slow = await startPriceServer();
      const api = await startApi({ ...t.env, PRICE_URL: slow.url, REDIS_PREFIX: `${t.env.REDIS_PREFIX}-${how}` }, t.clock);
      return { how, slow, api };
    }),
  );
  const ask = () => Promise.all(trials.map(async ({ how, api }) => ({ how, ...(await priceNow(api)) })));
  try {
    expect(await ask()).toEqual(trials.map(({ how }) => ({ how, status: 200, price: 142.31 })));
    for (const { how, slow } of trials) slow.answer(how);
    await later(31);
    const started = performance.now();
    expect(await ask()).toEqual(trials.map(({ how }) => ({ how, status: 200, price: 142.31 })));
    expect(performance.now() - started).toBeLessThan(2_000);
    await later(10 * 60);
    const without = performance.now();
    expect(await ask()).toMatchObject(trials.map(({ how }) => ({ how, status: 503 })));
    expect(performance.now() - without).toBeLessThan(5_000);
  } finally {
    await Promise.all(trials.flatMap(({ slow, api }) => [slow.close(), api.close()]));
  }
});

test('a source that answers without end is not listened to for long', async () => {
  source.answer('floods');
  const started = performance.now();
  expect((await ask()).status).toBe(503);
  expect(performance.now() - started).toBeLessThan(1_500);
});

test('a source that fails is left alone for 5 seconds', async () => {
  source.answer({ status: 429, body: '' });
  const before = source.asked;
  for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(503);
  expect(source.asked - before).toBe(1);
  await later(6);
  expect((await ask()).status).toBe(503);
  expect(source.asked - before).toBe(2);
});

test('what somebody else wrote into Redis is not believed', async () => {
  for (const text of ['{', '"142"', '{"value":-1,"at":0}', JSON.stringify({ value: 'much', at: t.clock.now().getTime() })]) {
    await t.app.redis.set(redisKey(), text);
    await later(31);
    expect(await priceNow()).toEqual({ status: 200, price: 142.31 });
  }
});
