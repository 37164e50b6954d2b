import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { routes } from '#areas/index.ts';
import { jobDescriptions } from '#job-descriptions';
import { jobs } from '#jobs/index.ts';
import { withoutDescription } from '#platform/http/board-jobs.ts';
import type { Job } from '#platform/jobs/job.ts';
import { startTestServer, type TestServer, TOKENS } from '#test/support/http/framework.ts';
import { createWallet } from '#test/support/wallet.ts';

const MODERATOR = 'test-moderation-token-0123';

let server: TestServer;
beforeAll(async () => {
  const tokens = `${TOKENS.all},editor:content:${TOKENS.content},moderator:moderation:${MODERATOR}`;
  server = await startTestServer(undefined, { env: { ADMIN_TOKENS: tokens } });
});
beforeEach(async () => {
  for (const queue of server.app.queues.all.values()) await queue.obliterate({ force: true });
});
afterAll(() => server.close());

const request = (path: string, token: string, method = 'GET', body?: string) =>
  fetch(`${server.url}/admin/queues${path}`, {
    method,
    headers: {
      Authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly data?: unknown;
  readonly returnValue?: { record?: Record<string, unknown> };
  readonly externalUrl?: { displayText: string; href: string };
}
/** Returns the jobs of a queue as Bull Board shows them. */
async function shown(queue: string, token = TOKENS.all): Promise<Shown[]> {
  const { queues } = (await (await request(`/api/queues?activeQueue=${queue}&status=latest`, token)).json()) as {
    queues: { name: string; jobs: Shown[] }[];
  };
  return queues.find(({ name }) => name === queue)?.jobs ?? [];
}

async function add(job: Job, payload: object): Promise<string> {
  const added = await server.app.queues.all.get(job.queue)?.add(job.name, payload);
  return added?.id ?? '';
}
const query = <Row extends object>(text: string, values: unknown[] = []) => server.app.db.query<Row>({ text }, values);

test('a signing job names its transaction, and shows every attempt that the database has', async () => {
  const wallet = createWallet().address;
  const [row] = await query<{ id: string }>(
    `insert into chain_transactions (kind, subject, state, attempts, caller) values ('payout-batch', 'batch-7', 'live', 2, $1) returning id`,
    [wallet],
  );
  for (const [n, state] of [
    [1, 'dead'],
    [2, 'sent'],
  ] as const)
    await query(
      `insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, preamble, last_valid_height, signed_slot, spends, spend_day)
       values ($1, $2, $3, $4, '', '{}', 0, 1, 1, '[]', 1)`,
      [row?.id, n, state, `signature-${n}`],
    );
  await add(jobs.signPayout, { id: row?.id, rank: 1 });
  const [job] = await shown('sign-payouts');
  expect(job?.name).toBe(`sign-payout: payout-batch batch-7 of wallet ${wallet}`);
  expect(job?.returnValue?.record).toMatchObject({
    state: 'live',
    attempts: [
      { n: 1, state: 'dead', signature: 'signature-1' },
      { n: 2, state: 'sent', signature: 'signature-2' },
    ],
  });
  expect(job?.externalUrl).toEqual({ displayText: 'post /admin/transactions/{id}/retry', href: '/docs#/Admin/postAdminTransactionsByIdRetry' });
});

test('a webhook job names its delivery, and shows the attempts and the verdict that the database has', async () => {
  await query(
    `insert into webhook_deliveries (source, id, body_hash, body, state, attempts, verdict) values ('chat-bridge', 'msg_1', '', '', 'received', 3, 'the round is over')`,
  );
  const id = await add(jobs.processWebhook, { source: 'chat-bridge', id: 'msg_1' });
  const { job } = (await (await request(`/api/queues/webhooks/${id}`, TOKENS.all)).json()) as { job: Shown };
  expect(job.name).toBe('process-webhook: delivery msg_1 from chat-bridge');
  expect(job.returnValue?.record).toMatchObject({ state: 'received', attempts: 3, verdict: 'the round is over' });
});

test('a job whose subject has no row, and a job with a payload of another release, are shown with their names', async () => {
  await add(jobs.computeEpoch, { epoch: 12 });
  await add(jobs.computeEpoch, { day: 12 });
  expect((await shown('epochs')).map(({ name }) => name).sort()).toEqual(['compute-epoch', 'compute-epoch: epoch 12']);
});

test('a batch of scores names its games and at most three wallets', async () => {
  const wallets = Array.from({ length: 5 }, () => createWallet().address);
  const submissions = wallets.map((wallet) => ({
    ...{ id: crypto.randomUUID(), wallet, gameId: 'gem-drop', score: 1, playId: null, durationMs: null, battleId: null, signature: null },
    ...{ replay: null, idempotencyKey: null, bodyHash: 'a'.repeat(64), at: new Date().toISOString() },
  }));
  await add(jobs.recordScores, { channel: 'here', submissions });
  expect((await shown('scores'))[0]?.name).toBe(`record-scores: 5 scores in gem-drop of ${wallets.slice(0, 3).join(', ')} and 2 more`);
});

test('a token with the scope content alone sees no payloads, and every other token sees them', async () => {
  const wallet = createWallet().address;
  const id = await add(jobs.applyBan, { wallet });
  const job = `queues/points/${id}`;
  for (const path of ['/api/queues?activeQueue=points&status=latest', `/api/${job}`, `/API/${job}`]) {
    expect(await (await request(path, MODERATOR)).text()).toContain(wallet);
    const hidden = await request(path, TOKENS.content);
    expect(hidden.status).toBe(200);
    const text = await hidden.text();
    expect(text).toContain('apply-ban');
    expect(text).not.toContain(wallet);
  }
  const logs = await request(`/api/queues/points/${id}/logs`, TOKENS.content);
  expect([logs.status, await logs.json()]).toEqual([
    403,
    { error: 'Authorization must be an admin token with a scope other than content to read the logs of jobs' },
  ]);
  expect((await request(`/api/queues/points/${id}/LOGS`, TOKENS.content)).status).toBe(403);
  expect((await request(`/api/queues/points/${id}/logs`, MODERATOR)).status).toBe(200);
});

test('a copy of a job has the plain name, so that a worker has a handler for it', async () => {
  expect(withoutDescription({ name: 'apply-ban: wallet a: b', data: {} })).toEqual({ name: 'apply-ban', data: {} });
  const body = JSON.stringify({ name: 'compute-epoch: epoch 3', data: { epoch: 3 }, options: {} });
  expect((await request('/api/queues/epochs/add', TOKENS.all, 'POST', body)).status).toBe(200);
  expect((await shown('epochs')).map(({ name }) => name)).toEqual(['compute-epoch: epoch 3']);
});

test('a path that leaves the folder of static files gets a 404', async () => {
  const headers = { Authorization: `Basic ${Buffer.from(`x:${TOKENS.all}`).toString('base64')}` };
  for (const path of ['/static/%2e%2e/%2e%2e/package.json', '/static/..%2f..%2fpackage.json', '/static/%00', '/static/%ff'])
    expect([
      path,
      await new Promise((resolve, reject) => {
        get({ port: server.port, path: `/admin/queues${path}`, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on('error', reject);
      }),
    ]).toEqual([path, 404]);
});

test('every route that a description names exists', () => {
  const known = new Set(
    Object.values(routes)
      .flat()
      .map(({ method, path }) => `${method} ${path}`),
  );
  const files = [
    'job-descriptions.ts',
    'areas/lottery/lifecycle/job-description.ts',
    'areas/rewards/epochs/job-description.ts',
    'platform/solana/submission/listing.ts',
    'platform/webhooks/job-description.ts',
  ];
  const text = files.map((file) => readFileSync(new URL(`../../../src/${file}`, import.meta.url), 'utf8')).join('');
  const named = [...text.matchAll(/'((?:get|post|put|patch|delete) \/[^']*)'/g)].map(([, name]) => name ?? '');
  expect(named.length).toBeGreaterThan(6);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('every job with a subject has a description, and names no job twice', () => {
  const withPayload = Object.values(jobs).flatMap((job) => ('shape' in job.payload && Object.keys(job.payload.shape).length > 0 ? [job.name] : []));
  expect(jobDescriptions.map(({ name }) => name).sort()).toEqual(withPayload.sort());
});
