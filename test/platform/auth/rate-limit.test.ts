import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HttpError } from '#lib/errors.ts';
import { enforceRateLimit, type RateLimit, rateLimitKey } from '#platform/auth/rate-limit.ts';
import { statement } from '#platform/db/sql.ts';
import { route } from '#platform/http/route.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { Acknowledged, acknowledged, DELIVERY_RATE_LIMIT } from '#platform/webhooks/receive.ts';
import { readResponse, startTestServer, type TestServer } from '#test/support/http/framework.ts';
import { createSecret, deliver, standardHeaders } from '#test/support/http/webhook.ts';

const SECRET = createSecret();
const hook = route({
  method: 'post',
  path: '/webhooks/payment-status',
  auth: { webhook: 'payment-status' },
  summary: 'Receives a delivery',
  returns: { 200: Acknowledged },
  fails: [],
  handler: ({ once }) => once(async () => acknowledged()),
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([hook], { env: { WEBHOOK_SECRET_PAYMENT_STATUS: SECRET } });
  await untilReady(server.app.redis);
});
afterAll(() => server.close());

const TEN: RateLimit = { name: 'test', max: 10, windowMs: 60_000 };
const errorOf = (counting: Promise<void>) =>
  counting.then(
    () => null,
    (error: unknown) => {
      if (error instanceof HttpError) return { status: error.status, message: error.message, headers: error.headers };
      throw error;
    },
  );

test('of concurrent requests exactly the limit is accepted', async () => {
  const caller = randomUUID();
  const errors = await Promise.all(Array.from({ length: 50 }, () => errorOf(enforceRateLimit(server.app, TEN, caller))));
  const rejected = errors.filter((one) => one !== null);
  expect(rejected.length).toBe(40);
  expect(rejected[0]).toMatchObject({ status: 429, message: 'at most 10 requests are accepted in 60 s, try again later' });
  expect(Number(rejected[0]?.headers['Retry-After'])).toBeGreaterThan(0);
  expect(Number(rejected[0]?.headers['Retry-After'])).toBeLessThanOrEqual(60);
  // Another caller has a counter of its own.
  await enforceRateLimit(server.app, TEN, randomUUID());
});

test('the window starts at the first request, and rejected requests do not extend it', async () => {
  const caller = randomUUID();
  for (let i = 0; i < 12; i++) await errorOf(enforceRateLimit(server.app, TEN, caller));
  const key = rateLimitKey(server.app, TEN, caller);
  expect(await server.app.redis.pttl(key)).toBeLessThanOrEqual(60_000);
  await server.app.redis.pexpire(key, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await enforceRateLimit(server.app, TEN, caller);
});

const findDelivery = statement<{ id: string }>('test_find_limited_delivery', 'select id from webhook_deliveries where id = $1');
const send = async (secret = SECRET) => {
  const id = randomUUID();
  const headers = standardHeaders(secret, id, Math.floor(server.app.clock.now().getTime() / 1_000), '{}');
  const response = await deliver(server, 'payment-status', headers, '{}');
  return { id, ...(await readResponse(response)), retryAfter: response.headers.get('Retry-After') };
};

test('a source above its rate limit gets a 429 and nothing is stored; deliveries with a wrong signature do not count and get a 401', async () => {
  const key = rateLimitKey(server.app, DELIVERY_RATE_LIMIT, 'payment-status');
  await send(createSecret());
  expect(await server.app.redis.get(key)).toBeNull();
  expect((await send()).status).toBe(200);
  await server.app.redis.set(key, DELIVERY_RATE_LIMIT.max, 'PX', 30_000);
  const refused = await send();
  expect([refused.status, refused.body]).toEqual([429, { error: 'at most 500 requests are accepted in 1 s, try again later' }]);
  expect(Number(refused.retryAfter)).toBeGreaterThan(0);
  expect(await server.app.db.query(findDelivery, [refused.id])).toEqual([]);
  expect((await send(createSecret())).status).toBe(401);
  await server.app.redis.del(key);
  expect((await send()).status).toBe(200);
});

test('webhook deliveries are stored while Redis is down', async () => {
  const away = await startTestServer([hook], { env: { WEBHOOK_SECRET_PAYMENT_STATUS: SECRET, REDIS_URL: 'unix:///nowhere/redis.sock' } });
  try {
    const headers = standardHeaders(SECRET, randomUUID(), Math.floor(away.app.clock.now().getTime() / 1_000), '{}');
    expect((await deliver(away, 'payment-status', headers, '{}')).status).toBe(200);
  } finally {
    await away.close();
  }
});

test('every refusal with 429 is created by tooManyRequests, so that it has the headers RateLimit and RateLimit-Policy', () => {
  const src = join(import.meta.dirname, '../../../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(300);
  const direct = files.filter((file) => /\bfail\(\s*429\b/.test(readFileSync(join(src, file), 'utf8')));
  expect(direct).toEqual([join('platform', 'auth', 'rate-limit.ts')]);
});
