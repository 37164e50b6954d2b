import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Worker } from 'bullmq';
import { statement } from '#platform/db/sql.ts';
import { queuePrefix } from '#platform/jobs/queues.ts';
import { answerOf, type Kit, startKit, TOKENS } from '#test/support/http/framework.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await startKit([]);
});
afterAll(() => kit.close());

const basic = (token: string, user = 'anyone') => `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`;
const ask = (path: string, { method = 'GET', token = TOKENS.all, ...headers }: Record<string, string> = {}, body?: string) =>
  fetch(`${kit.url}/admin/queues${path}`, {
    method,
    headers: { Authorization: basic(token), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
const auditPaths = statement<{ token_name: string; method: string; path: string }>(
  'test_board_audit',
  'select token_name, method, path from admin_audit order by id',
);
const audited = () => kit.app.db.query(auditPaths);

/** Puts a job into the queue `upkeep` that has failed. */
async function failJob(): Promise<string> {
  const job = await kit.app.queues.all.get('upkeep')?.add('expire', {}, { attempts: 1 });
  const worker = new Worker('upkeep', () => Promise.reject(new Error('broken')), {
    connection: kit.app.connect(),
    prefix: queuePrefix(kit.app.config.redis.prefix, 'upkeep'),
  });
  await new Promise((resolve) => worker.once('failed', resolve));
  await worker.close();
  return job?.id ?? '';
}
const stateOf = async (id: string) => (await kit.app.queues.all.get('upkeep')?.getJob(id))?.getState();

test.each([
  ['none', ''],
  ['a wrong password', basic('wrong-admin-token-0123456789')],
  ['the token as the user', `Basic ${Buffer.from(`${TOKENS.all}:`).toString('base64')}`],
  ['a bearer token', `Bearer ${TOKENS.all}`],
  ['the internal token', basic(TOKENS.internal)],
  ['no base64', 'Basic ???'],
])('the board asks for an admin token by HTTP Basic, and this is none: %s', async (_what, authorization) => {
  for (const path of ['', '/', '/api/queues', '/static/css/none.css', '/nowhere']) {
    const response = await ask(path, { Authorization: authorization });
    expect(response.headers.get('WWW-Authenticate')).toMatch(/^Basic realm="/);
    expect(await answerOf(response)).toEqual({
      status: 401,
      body: { error: 'Authorization must be HTTP Basic with an admin token as the password' },
    });
  }
});

test('the page loads nothing from elsewhere, runs no inline script and cannot be framed', async () => {
  const response = await ask('/');
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  const policy = response.headers.get('Content-Security-Policy') ?? '';
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src [^;]*unsafe/);
  expect(response.headers.get('X-Frame-Options')).toBe('DENY');
  expect(response.headers.get('Referrer-Policy')).toBe('no-referrer');
  const html = await response.text();
  expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  const scripts = [...html.matchAll(/(?:src|href)="(static\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]);
  expect(scripts.length).toBeGreaterThan(2);
  for (const script of scripts) {
    const part = await ask(`/${script}`);
    expect(part.status).toBe(200);
    // Unread, it would hold its connection, and that this process.
    await part.body?.cancel();
  }
});

test('it shows every queue', async () => {
  const { queues } = (await (await ask('/api/queues')).json()) as { queues: { name: string }[] };
  expect(queues.map((queue) => queue.name).sort()).toEqual([...kit.app.queues.all.keys()].sort());
});

test('a failed job is retried, then removed; both are audited, looking is not', async () => {
  const id = await failJob();
  expect((await ask(`/api/queues/upkeep/${id}`)).status).toBe(200);
  expect(await audited()).toEqual([]);
  expect((await ask(`/api/queues/upkeep/${id}/retry`, { method: 'PUT', Origin: kit.url, 'Sec-Fetch-Site': 'same-origin' })).status).toBeLessThan(300);
  expect(await stateOf(id)).toBe('waiting');
  expect((await ask(`/api/queues/upkeep/${id}/clean`, { method: 'PUT' })).status).toBeLessThan(300);
  expect(await stateOf(id)).not.toBe('waiting');
  expect(await audited()).toEqual([
    { token_name: 'admin-1', method: 'PUT', path: `/admin/queues/api/queues/upkeep/${id}/retry` },
    { token_name: 'admin-1', method: 'PUT', path: `/admin/queues/api/queues/upkeep/${id}/clean` },
  ]);
});

test('all failed jobs of a queue are retried and cleaned at once, delayed ones promoted, and a queue is paused and resumed', async () => {
  const queue = kit.app.queues.all.get('upkeep');
  const put = async (path: string) => (await ask(`/api/queues/upkeep/${path}`, { method: 'PUT', Origin: kit.url })).status;
  const counts = () => queue?.getJobCounts('waiting', 'failed', 'delayed');
  await queue?.add('expire', {}, { delay: 3_600_000 });
  expect(await put('promote')).toBeLessThan(300);
  expect(await counts()).toEqual({ waiting: 1, failed: 0, delayed: 0 });
  expect(await put('empty')).toBeLessThan(300);
  await failJob();
  expect(await put('retry/failed')).toBeLessThan(300);
  expect(await counts()).toEqual({ waiting: 1, failed: 0, delayed: 0 });
  expect(await put('empty')).toBeLessThan(300);
  // What has failed within the last seconds stays.
  const old = await failJob();
  await kit.app.redis.hset(queue?.toKey(old) ?? '', 'finishedOn', 1);
  await kit.app.redis.zadd(queue?.toKey('failed') ?? '', 1, old);
  expect(await put('clean/failed')).toBeLessThan(300);
  expect(await counts()).toEqual({ waiting: 0, failed: 0, delayed: 0 });
  expect(await put('pause')).toBeLessThan(300);
  expect(await queue?.isPaused()).toBe(true);
  expect(await put('resume')).toBeLessThan(300);
  expect(await queue?.isPaused()).toBe(false);
});

test.each([
  [{ Origin: 'https://evil.example' }],
  [{ Origin: 'null' }],
  [{ Origin: 'https://friend.example' }],
  [{ 'Sec-Fetch-Site': 'cross-site' }],
  [{ 'Sec-Fetch-Site': 'same-site' }],
  [{ Origin: 'http://coinop.test', 'Sec-Fetch-Site': 'cross-site' }],
] as [Record<string, string>][])('a write from another page is refused, whatever password its browser adds: %j', async (headers) => {
  const before = await audited();
  expect(await answerOf(await ask('/api/queues/upkeep/pause', { method: 'PUT', ...headers }))).toEqual({
    status: 403,
    body: { error: 'Origin must be that of this service' },
  });
  expect(await kit.app.queues.all.get('upkeep')?.isPaused()).toBe(false);
  expect(await audited()).toEqual(before);
});

test('an allowed origin reads nothing of it', async () => {
  const response = await ask('/api/queues', { Origin: 'https://friend.example' });
  expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull();
});

test('without the scope money the board shows everything and changes nothing', async () => {
  const job = JSON.stringify({ name: 'expire', data: {}, options: {} });
  const before = await audited();
  const id = await failJob();
  for (const [method, path, body] of [
    ['POST', 'upkeep/add', job],
    ['PUT', `upkeep/${id}/retry`],
    ['PUT', `upkeep/${id}/clean`],
    ['PUT', 'upkeep/pause'],
    ['PUT', 'pause'],
  ] as const) {
    expect(await answerOf(await ask(`/api/queues/${path}`, { method, token: TOKENS.content }, body))).toEqual({
      status: 403,
      body: { error: 'Authorization must be an admin token with the scope money to change queues or jobs' },
    });
  }
  expect(await stateOf(id)).toBe('failed');
  expect(await audited()).toEqual(before);
  const shown = async (token: string) =>
    ((await (await ask('/api/queues', { token })).json()) as { queues: { name: string; readOnlyMode: boolean }[] }).queues;
  const [reading, writing] = [await shown(TOKENS.content), await shown(TOKENS.all)];
  expect(reading.map(({ name }) => name)).toEqual(writing.map(({ name }) => name));
  expect([...new Set(reading.map((queue) => queue.readOnlyMode))]).toEqual([true]);
  expect([...new Set(writing.map((queue) => queue.readOnlyMode))]).toEqual([false]);
  expect((await ask('/api/queues/upkeep/add', { method: 'POST' }, job)).status).toBe(200);
  expect((await audited()).at(-1)).toEqual({ token_name: 'admin-1', method: 'POST', path: '/admin/queues/api/queues/upkeep/add' });
});

test('what the board does not know is 404, and paths that only begin like it are others', async () => {
  for (const path of ['/api/nothing', '/static/../../../../package.json', '/static/%2e%2e/%2e%2e/package.json']) {
    expect((await ask(path)).status).toBe(404);
  }
  expect(await answerOf(await fetch(`${kit.url}/admin/queuesx`))).toEqual({ status: 404, body: { error: 'no such resource' } });
});
