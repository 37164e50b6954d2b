import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';

const act = route({
  method: 'get',
  path: '/admin/thing',
  auth: { admin: 'content' },
  load: 'none',
  summary: 'Does a thing',
  returns: { 200: z.object({}) },
  fails: [],
  handler: async () => reply(200, {}),
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([act], { env: { PUBLIC_URL: 'https://coinop.test' } });
});
afterAll(() => server.close());

const send = async (path: string, Authorization: string) => {
  const began = performance.now();
  const response = await fetch(server.url + path, { headers: { Authorization } });
  await response.arrayBuffer();
  return { status: response.status, ms: performance.now() - began, response };
};
const guess = () => send('/admin/thing', 'Bearer wrong-token-0123456789');

test('the more wrong tokens a process receives, the later it answers them, up to a second; the right token and a missing one are not delayed', async () => {
  const guesses = Array.from({ length: 40 }, guess);
  const page = send('/admin/queues', `Basic ${Buffer.from('x:wrong-token-0123456789').toString('base64')}`);
  await Promise.all(guesses.slice(0, 20));
  const right = Array.from({ length: 5 }, () => send('/admin/thing', `Bearer ${TOKENS.content}`));
  const others = await Promise.all([...right, send('/admin/thing', '')]);
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 403]);
  const slowest = Math.max(...others.map(({ ms }) => ms));
  const answers = await Promise.all([...guesses, page]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403, 401]));
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  expect(times[30]).toBeGreaterThan(500);
  expect(times.at(-1)).toBeLessThan(3_000);
  expect(slowest).toBeLessThan(times[30] ?? 0);
});

test('with an https PUBLIC_URL every response has Strict-Transport-Security: JSON, errors, documentation and Bull Board', async () => {
  const responses = await Promise.all(
    ['/admin/thing', '/nowhere', '/openapi.json', '/docs', '/admin/queues'].map((path) => fetch(server.url + path, { redirect: 'manual' })),
  );
  expect(responses.map(({ headers }) => headers.get('Strict-Transport-Security'))).toEqual(
    responses.map(() => 'max-age=31536000; includeSubDomains'),
  );
});
