import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HttpError } from '#lib/errors.ts';
import { countWithin, type Limit, limitKey } from '#platform/auth/rate-limit.ts';
import { statement } from '#platform/db/sql.ts';
import { route } from '#platform/http/route.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { Acknowledged, acknowledged, DELIVERIES } from '#platform/webhooks/receive.ts';
import { answerOf, type Kit, startKit } from '#test/support/http/framework.ts';
import { createSecret, deliver, standardHeaders } from '#test/support/http/webhook.ts';

const SECRET = createSecret();
const hook = route({
  method: 'post',
  path: '/webhooks/payment-status',
  auth: { webhook: 'payment-status' },
  summary: 'Takes a delivery',
  returns: { 200: Acknowledged },
  fails: [],
  handler: ({ once }) => once(async () => acknowledged()),
});

let kit: Kit;
beforeAll(async () => {
  kit = await startKit([hook], { env: { WEBHOOK_SECRET_PAYMENT_STATUS: SECRET } });
  await untilReady(kit.app.redis);
});
afterAll(() => kit.close());

const TEN: Limit = { name: 'test', most: 10, windowMs: 60_000 };
const refusalOf = (counting: Promise<void>) =>
  counting.then(
    () => null,
    (error: unknown) => {
      if (error instanceof HttpError) return { status: error.status, message: error.message, headers: error.headers };
      throw error;
    },
  );

test('of many at once, as many as the limit says are let through', async () => {
  const who = randomUUID();
  const refusals = await Promise.all(Array.from({ length: 50 }, () => refusalOf(countWithin(kit.app, TEN, who))));
  const refused = refusals.filter((one) => one !== null);
  expect(refused.length).toBe(40);
  expect(refused[0]).toMatchObject({ status: 429, message: 'at most 10 are accepted in 60 s, try again later' });
  expect(Number(refused[0]?.headers['Retry-After'])).toBeGreaterThan(0);
  expect(Number(refused[0]?.headers['Retry-After'])).toBeLessThanOrEqual(60);
  // Somebody else is counted apart.
  await countWithin(kit.app, TEN, randomUUID());
});

test('the window begins with the first, and ends: what was refused does not prolong it', async () => {
  const who = randomUUID();
  for (let i = 0; i < 12; i++) await refusalOf(countWithin(kit.app, TEN, who));
  const key = limitKey(kit.app, TEN, who);
  expect(await kit.app.redis.pttl(key)).toBeLessThanOrEqual(60_000);
  await kit.app.redis.pexpire(key, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await countWithin(kit.app, TEN, who);
});

const findDelivery = statement<{ id: string }>('test_find_limited_delivery', 'select id from webhook_deliveries where id = $1');
const send = async (secret = SECRET) => {
  const id = randomUUID();
  const headers = standardHeaders(secret, id, Math.floor(kit.app.clock.now().getTime() / 1_000), '{}');
  const response = await deliver(kit, 'payment-status', headers, '{}');
  return { id, ...(await answerOf(response)), retryAfter: response.headers.get('Retry-After') };
};

test('a source that delivers too much is 429 before anything is stored; who cannot sign neither counts nor learns of it', async () => {
  const key = limitKey(kit.app, DELIVERIES, 'payment-status');
  await send(createSecret());
  expect(await kit.app.redis.get(key)).toBeNull();
  expect((await send()).status).toBe(200);
  await kit.app.redis.set(key, DELIVERIES.most, 'PX', 30_000);
  const refused = await send();
  expect([refused.status, refused.body]).toEqual([429, { error: 'at most 500 are accepted in 1 s, try again later' }]);
  expect(Number(refused.retryAfter)).toBeGreaterThan(0);
  expect(await kit.app.db.query(findDelivery, [refused.id])).toEqual([]);
  expect((await send(createSecret())).status).toBe(401);
  await kit.app.redis.del(key);
  expect((await send()).status).toBe(200);
});

test('deliveries are stored while Redis is away', async () => {
  const away = await startKit([hook], { env: { WEBHOOK_SECRET_PAYMENT_STATUS: SECRET, REDIS_URL: 'unix:///nowhere/redis.sock' } });
  try {
    const headers = standardHeaders(SECRET, randomUUID(), Math.floor(away.app.clock.now().getTime() / 1_000), '{}');
    expect((await deliver(away, 'payment-status', headers, '{}')).status).toBe(200);
  } finally {
    await away.close();
  }
});
