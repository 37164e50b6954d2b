import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Worker } from 'bullmq';
import { statement } from '#platform/db/sql.ts';
import { queuePrefix } from '#platform/jobs/queues.ts';
import { readResponse, startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([]);
});
afterAll(() => server.close());

const basic = (token: string, user = 'anyone') => `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`;
const request = (path: string, { method = 'GET', token = TOKENS.all, ...headers }: Record<string, string> = {}, body?: string) =>
  fetch(`${server.url}/admin/queues${path}`, {
    method,
    headers: { Authorization: basic(token), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
const auditPaths = statement<{ token_name: string; method: string; path: string }>(
  'test_board_audit',
  'select token_name, method, path from admin_audit order by id',
);
const audited = () => server.app.db.query(auditPaths);

/** Adds a job to the queue `maintenance` and lets it fail. */
async function failJob(): Promise<string> {
  const job = await server.app.queues.all.get('maintenance')?.add('purge-expired', {}, { attempts: 1 });
  const worker = new Worker('maintenance', () => Promise.reject(new Error('broken')), {
    connection: server.app.connect(),
    prefix: queuePrefix(server.app.config.redis.prefix, 'maintenance'),
  });
  await new Promise((resolve) => worker.once('failed', resolve));
  await worker.close();
  return job?.id ?? '';
}
const stateOf = async (id: string) => (await server.app.queues.all.get('maintenance')?.getJob(id))?.getState();

test.each([
  ['no credentials', ''],
  ['a wrong password', basic('wrong-admin-token-0123456789')],
  ['the token as the user', `Basic ${Buffer.from(`${TOKENS.all}:`).toString('base64')}`],
  ['a bearer token', `Bearer ${TOKENS.all}`],
  ['the internal token', basic(TOKENS.internal)],
  ['invalid base64', 'Basic ???'],
])('Bull Board rejects a request without an admin token as the Basic password with 401: %s', async (_case, authorization) => {
  for (const path of ['', '/', '/api/queues', '/static/css/none.css', '/nowhere']) {
    const response = await request(path, { Authorization: authorization });
    expect(response.headers.get('WWW-Authenticate')).toMatch(/^Basic realm="/);
    expect(await readResponse(response)).toEqual({
      status: 401,
      body: { error: 'Authorization must be HTTP Basic with an admin token as the password' },
    });
  }
});

test('the page of Bull Board loads no external resources, has no inline scripts and cannot be framed', async () => {
  const response = await request('/');
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
    const part = await request(`/${script}`);
    expect(part.status).toBe(200);
    // An unread body would keep its connection open, and the open connection would keep this process alive.
    await part.body?.cancel();
  }
});

test('Bull Board shows every queue', async () => {
  const { queues } = (await (await request('/api/queues')).json()) as { queues: { name: string }[] };
  expect(queues.map((queue) => queue.name).sort()).toEqual([...server.app.queues.all.keys()].sort());
});

test('retrying and removing a failed job is added to the audit log; reading is not', async () => {
  const id = await failJob();
  expect((await request(`/api/queues/maintenance/${id}`)).status).toBe(200);
  expect(await audited()).toEqual([]);
  expect(
    (await request(`/api/queues/maintenance/${id}/retry`, { method: 'PUT', Origin: server.url, 'Sec-Fetch-Site': 'same-origin' })).status,
  ).toBeLessThan(300);
  expect(await stateOf(id)).toBe('waiting');
  expect((await request(`/api/queues/maintenance/${id}/clean`, { method: 'PUT' })).status).toBeLessThan(300);
  expect(await stateOf(id)).not.toBe('waiting');
  expect(await audited()).toEqual([
    { token_name: 'admin-1', method: 'PUT', path: `/admin/queues/api/queues/maintenance/${id}/retry` },
    { token_name: 'admin-1', method: 'PUT', path: `/admin/queues/api/queues/maintenance/${id}/clean` },
  ]);
});

test('Bull Board retries and removes all failed jobs of a queue, promotes delayed jobs, and pauses and resumes a queue', async () => {
  const queue = server.app.queues.all.get('maintenance');
  const put = async (path: string) => (await request(`/api/queues/maintenance/${path}`, { method: 'PUT', Origin: server.url })).status;
  const counts = () => queue?.getJobCounts('waiting', 'failed', 'delayed');
  await queue?.add('purge-expired', {}, { delay: 3_600_000 });
  expect(await put('promote')).toBeLessThan(300);
  expect(await counts()).toEqual({ waiting: 1, failed: 0, delayed: 0 });
  expect(await put('empty')).toBeLessThan(300);
  await failJob();
  expect(await put('retry/failed')).toBeLessThan(300);
  expect(await counts()).toEqual({ waiting: 1, failed: 0, delayed: 0 });
  expect(await put('empty')).toBeLessThan(300);
  // Bull Board does not remove jobs that failed within the last seconds, so the job's failure time is moved to the past.
  const old = await failJob();
  await server.app.redis.hset(queue?.toKey(old) ?? '', 'finishedOn', 1);
  await server.app.redis.zadd(queue?.toKey('failed') ?? '', 1, old);
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
] as [Record<string, string>][])('a write from another origin gets a 403 although the browser sends the credentials: %j', async (headers) => {
  const before = await audited();
  expect(await readResponse(await request('/api/queues/maintenance/pause', { method: 'PUT', ...headers }))).toEqual({
    status: 403,
    body: { error: 'Origin must be that of this service' },
  });
  expect(await server.app.queues.all.get('maintenance')?.isPaused()).toBe(false);
  expect(await audited()).toEqual(before);
});

test('Bull Board sends no CORS headers to an allowed origin', async () => {
  const response = await request('/api/queues', { Origin: 'https://friend.example' });
  expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull();
});

test('a token without the scope money gets a read-only board', async () => {
  const job = JSON.stringify({ name: 'purge-expired', data: {}, options: {} });
  const before = await audited();
  const id = await failJob();
  for (const [method, path, body] of [
    ['POST', 'maintenance/add', job],
    ['PUT', `maintenance/${id}/retry`],
    ['PUT', `maintenance/${id}/clean`],
    ['PUT', 'maintenance/pause'],
    ['PUT', 'pause'],
  ] as const) {
    expect(await readResponse(await request(`/api/queues/${path}`, { method, token: TOKENS.content }, body))).toEqual({
      status: 403,
      body: { error: 'Authorization must be an admin token with the scope money to change queues or jobs' },
    });
  }
  expect(await stateOf(id)).toBe('failed');
  expect(await audited()).toEqual(before);
  const shown = async (token: string) =>
    ((await (await request('/api/queues', { token })).json()) as { queues: { name: string; readOnlyMode: boolean }[] }).queues;
  const [readOnly, readWrite] = [await shown(TOKENS.content), await shown(TOKENS.all)];
  expect(readOnly.map(({ name }) => name)).toEqual(readWrite.map(({ name }) => name));
  expect([...new Set(readOnly.map((queue) => queue.readOnlyMode))]).toEqual([true]);
  expect([...new Set(readWrite.map((queue) => queue.readOnlyMode))]).toEqual([false]);
  expect((await request('/api/queues/maintenance/add', { method: 'POST' }, job)).status).toBe(200);
  expect((await audited()).at(-1)).toEqual({ token_name: 'admin-1', method: 'POST', path: '/admin/queues/api/queues/maintenance/add' });
});

test('an unknown path below the board gets a 404, and a path with a longer prefix is not part of the board', async () => {
  for (const path of ['/api/nothing', '/static/../../../../package.json', '/static/%2e%2e/%2e%2e/package.json']) {
    expect((await request(path)).status).toBe(404);
  }
  expect(await readResponse(await fetch(`${server.url}/admin/queuesx`))).toEqual({ status: 404, body: { error: 'no such resource' } });
});
