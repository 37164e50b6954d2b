import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { untilReady } from '#platform/redis/connection.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { testRedisSocket } from '#test/support/database.ts';
import { type PriceReply, type PriceServer, startPriceServer } from '#test/support/servers/price-server.ts';
import { openTcpProxy } from '#test/support/servers/tcp-proxy.ts';
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
  // The cached price of the previous test has expired.
  source.setPrice(142.31);
  await later(11 * 60);
});

const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const ask = (of: Pick<TestApp, 'url'> = t) => send(of, '/api/price/sol');
const priceNow = async (of?: Pick<TestApp, 'url'>) => {
  const response = await ask(of);
  return { status: response.status, ...((await response.json()) as object) };
};
const redisKey = () => `${t.env.REDIS_PREFIX}:last-good:price:sol`;

test('the price response has one field and is cacheable while the price is fresh', async () => {
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

test('all processes together request the source once per 30 seconds', async () => {
  const other = await startApi(t.env, t.clock);
  try {
    const before = source.requestCount;
    const answers = await Promise.all(Array.from({ length: 20 }, () => priceNow()));
    expect(answers).toEqual(answers.map(() => ({ status: 200, price: 142.31 })));
    source.setPrice(150);
    expect(await priceNow(other)).toEqual({ status: 200, price: 142.31 });
    await later(29);
    expect(await priceNow()).toEqual({ status: 200, price: 142.31 });
    expect(source.requestCount - before).toBe(1);
    await later(2);
    expect(await priceNow(other)).toEqual({ status: 200, price: 150 });
    expect(await priceNow()).toEqual({ status: 200, price: 150 });
    expect(source.requestCount - before).toBe(2);
  } finally {
    await other.close();
  }
});

test('without Redis, each process requests the source itself', async () => {
  const way = await openTcpProxy(testRedisSocket());
  const alone = await startApi({ ...t.env, REDIS_URL: `redis://127.0.0.1:${way.port}` }, t.clock);
  try {
    await way.shut();
    const before = source.requestCount;
    expect(await priceNow(alone)).toEqual({ status: 200, price: 142.31 });
    expect(await priceNow(alone)).toEqual({ status: 200, price: 142.31 });
    expect(source.requestCount - before).toBe(1);
    source.setReply('drops');
    await later(31);
    expect(await priceNow(alone)).toEqual({ status: 200, price: 142.31 });
    await way.open();
    await untilReady(alone.app.redis);
  } finally {
    await alone.close();
    await way.close();
  }
});

const says = (body: string): PriceReply => ({ status: 200, body });
const FAILURES: [string, PriceReply | (() => PriceReply)][] = [
  ['drops the connection', 'drops'],
  ['returns 429', { status: 429, body: '{"status":{"error_code":429}}', headers: { 'Retry-After': '60' } }],
  ['returns 500', { status: 500, body: 'oops' }],
  ['returns 503', { status: 503, body: '' }],
  ['returns 404', { status: 404, body: JSON.stringify({ solana: { usd: 1 } }) }],
  ['returns 204', { status: 204, body: '' }],
  ['returns an empty body', says('')],
  ['returns an HTML page', says('<html>Just a moment…</html>')],
  ['returns truncated JSON', says('{"solana":{"usd":14')],
  ['returns null', says('null')],
  ['returns another coin', says('{"bitcoin":{"usd":1}}')],
  ['returns no price', says('{"solana":{}}')],
  ['returns the price 0', says('{"solana":{"usd":0}}')],
  ['returns a negative price', says('{"solana":{"usd":-1}}')],
  ['returns NaN', says('{"solana":{"usd":NaN}}')],
  ['returns the price null', says('{"solana":{"usd":null}}')],
  ['returns the price as a string', says('{"solana":{"usd":"142.31"}}')],
  ['returns a price above the number range', says('{"solana":{"usd":1e999}}')],
  ['returns an endless body', 'floods'],
  ['redirects', () => ({ status: 302, body: '', headers: { Location: elsewhere.url } })],
];

test.each(FAILURES)('when the source %s, the last price is used for 10 minutes, then the response is 503', async (_fault, failure) => {
  await priceNow();
  source.setReply(typeof failure === 'function' ? failure() : failure);
  await later(31);
  const standIn = await ask();
  expect([standIn.status, await standIn.json()]).toEqual([200, { price: 142.31 }]);
  expect(standIn.headers.get('Cache-Control')).toBe('public, max-age=5');
  await later(9 * 60);
  expect(await priceNow()).toEqual({ status: 200, price: 142.31 });
  await later(31);
  const none = await ask();
  expect([none.status, await none.json()]).toEqual([503, { error: 'the price of SOL cannot be read at the moment, try again' }]);
  expect(none.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  expect(none.headers.get('Cache-Control')).toBe('no-store');
  source.setPrice(143.5);
  await later(6);
  expect(await priceNow()).toEqual({ status: 200, price: 143.5 });
  expect(elsewhere.requestCount).toBe(0);
});

test('with a cached price a hanging source is not awaited; without one the request ends at the timeout', async () => {
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
    for (const { how, slow } of trials) slow.setReply(how);
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

test.each(['floods', 'fails-endlessly'] as const)('an endless response of the source (%s) is aborted', async (reply) => {
  source.setReply(reply);
  const started = performance.now();
  expect((await ask()).status).toBe(503);
  await source.sentEndless();
  expect(performance.now() - started).toBeLessThan(1_500);
});

test('a response of 16,384 bytes is read, and a longer one is refused', async () => {
  const price = JSON.stringify({ solana: { usd: 7 } });
  source.setReply(says(price.padEnd(16_384)));
  expect(await priceNow()).toEqual({ status: 200, price: 7 });
  await later(11 * 60);
  source.setReply(says(price.padEnd(16_385)));
  expect((await ask()).status).toBe(503);
});

test('after a failure, the source is not requested for 5 seconds', async () => {
  source.setReply({ status: 429, body: '' });
  const before = source.requestCount;
  for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(503);
  expect(source.requestCount - before).toBe(1);
  await later(6);
  expect((await ask()).status).toBe(503);
  expect(source.requestCount - before).toBe(2);
});

test('an invalid cached price in Redis is ignored', async () => {
  for (const text of ['{', '"142"', '{"value":-1,"at":0}', JSON.stringify({ value: 'much', at: t.clock.now().getTime() })]) {
    await t.app.redis.set(redisKey(), text);
    await later(31);
    expect(await priceNow()).toEqual({ status: 200, price: 142.31 });
  }
});
