import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '#config';
import { openLog } from '#platform/observability/log.ts';
import { startTracing, traceJob } from '#platform/observability/tracing/tracing.ts';
import { type PayoutsTest, startPayoutsTest } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { newPayer, openRound, payFor, requestTicket } from '#test/support/areas/tickets.ts';
import { attributeOf, type CollectedSpan, type Collector, startCollector } from '#test/support/servers/collector.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let collector: Collector;
let t: PayoutsTest;
let tracing: { close(): Promise<void> };
beforeAll(async () => {
  collector = await startCollector();
  t = await startPayoutsTest({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/` } });
  tracing = await startTracing(t.app.config, 'test', t.app.log);
});
afterAll(async () => {
  await t.close();
  await tracing.close();
  await collector.close();
});

const newTrace = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') });
const header = ({ traceId, spanId }: { traceId: string; spanId: string }, flags = '01') => ({ traceparent: `00-${traceId}-${spanId}-${flags}` });
const score = (player: SignedIn, headers: Record<string, string>) =>
  player.fetch('/arcade/score', { json: { gameId: 'token-pusher', score: 420 }, headers });
const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const [span] = spans.filter((one) => one.name === name);
  if (!span) throw new Error(`no span ${name} among ${spans.map((one) => one.name)}`);
  return span;
};

test('a score submission is one trace: request, job, batch, transaction and statements', async () => {
  const caller = newTrace();
  const player = await signIn(t);
  const response = await score(player, { ...header(caller), 'X-Request-Id': 'request-1' });
  expect(response.status).toBe(200);
  const spans = await collector.trace(caller.traceId, 'POST /arcade/score', 'insert_scores');
  const request = named(spans, 'POST /arcade/score');
  expect(request).toMatchObject({ kind: 2, parentSpanId: caller.spanId, service: 'coinop-test' });
  expect(['http.route', 'http.response.status_code', 'coinop.request_id'].map((name) => attributeOf(request, name))).toEqual([
    '/arcade/score',
    '200',
    'request-1',
  ]);
  const job = named(spans, 'process record-scores');
  expect([job.kind, job.parentSpanId, attributeOf(job, 'messaging.destination.name')]).toEqual([5, request.spanId, 'scores']);
  const batch = named(spans, 'record scores');
  expect(batch.parentSpanId).toBe(job.spanId);
  const transaction = spans.find(({ name, parentSpanId }) => name === 'transaction' && parentSpanId === batch.spanId);
  expect(named(spans, 'insert_scores')).toMatchObject({ kind: 3, parentSpanId: transaction?.spanId });
  expect(attributeOf(named(spans, 'insert_scores'), 'db.query.summary')).toBe('insert_scores');
});

test('a ticket is one trace: request, job and RPC requests; spans contain no wallets, signatures or secrets', async () => {
  const caller = newTrace();
  const payer = await newPayer(t);
  const round = await openRound(t, payer);
  const signature = await payFor(t, payer, round);
  const response = await requestTicket(payer, round, signature, header(caller));
  expect([200, 201, 202]).toContain(response.status);
  const spans = await collector.trace(caller.traceId, 'POST /round/{id}/ticket', 'process check-ticket', 'rpc getTransaction');
  const job = named(spans, 'process check-ticket');
  expect(job.parentSpanId).toBe(named(spans, 'POST /round/{id}/ticket').spanId);
  const rpcRequest = named(spans, 'rpc getTransaction');
  expect([rpcRequest.kind, rpcRequest.parentSpanId, attributeOf(rpcRequest, 'rpc.method')]).toEqual([3, job.spanId, 'getTransaction']);
  for (const secret of [payer.wallet, signature, payer.cookie, ...Object.values(t.env).filter((value) => value.length > 40)]) {
    expect(collector.bytes.join('')).not.toContain(secret);
  }
});

test('a job with the scores of several requests is a child of one request or linked to all of them', async () => {
  const players = await Promise.all(Array.from({ length: 30 }, async () => ({ caller: newTrace(), player: await signIn(t) })));
  const statuses = await Promise.all(players.map(async ({ caller, player }) => (await score(player, header(caller))).status));
  expect(statuses).toEqual(players.map(() => 200));
  const jobs = () => collector.spans.filter(({ name }) => name === 'process record-scores');
  for (const { caller } of players) {
    const request = named(await collector.trace(caller.traceId, 'POST /arcade/score'), 'POST /arcade/score');
    await retryUntilPass(() => {
      const related = jobs().filter((job) => job.parentSpanId === request.spanId || job.links?.some(({ spanId }) => spanId === request.spanId));
      expect(related.length).toBe(1);
    });
  }
  expect(Math.max(...jobs().map(({ links }) => links?.length ?? 0))).toBeGreaterThan(1);
});

test('traceparent can turn sampling off, and an invalid traceparent starts a new trace', async () => {
  const [untraced, traced] = [newTrace(), newTrace()];
  const player = await signIn(t);
  expect((await score(player, header(untraced, '00'))).status).toBe(200);
  for (const traceparent of ['', '00', `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`]) {
    expect((await player.fetch('/me', { headers: { traceparent } })).status).toBe(200);
  }
  expect((await score(player, header(traced))).status).toBe(200);
  await collector.trace(traced.traceId, 'POST /arcade/score', 'process record-scores');
  expect(collector.spans.filter(({ traceId }) => traceId === untraced.traceId)).toEqual([]);
  const readSpans = collector.spans.filter(({ name }) => name === 'GET /me');
  expect(readSpans.length).toBe(4);
  expect(readSpans.every(({ parentSpanId, traceId }) => !parentSpanId && !/^(?:a{32}|0{32})$/.test(traceId))).toBe(true);
});

test('a failed span has the error type without the message, and a statement outside a trace has no span', async () => {
  const [notFound, failed] = [newTrace(), newTrace()];
  await t.app.db.query({ name: 'test_outside', text: 'select 1' });
  expect((await fetch(`${t.url}/game/none/stats`, { headers: header(notFound) })).status).toBe(404);
  const job = { name: 'test', queue: 'maintenance', id: '1', attempt: 1 };
  const cast = { name: 'test_cast', text: `select 'of the caller'::int` };
  await expect(traceJob(job, header(failed).traceparent, () => t.app.db.query(cast))).rejects.toThrow('of the caller');
  const request = named(await collector.trace(notFound.traceId, 'GET /game/{id}/stats'), 'GET /game/{id}/stats');
  expect(request.status?.code ?? 0).toBe(0);
  const spans = await collector.trace(failed.traceId, 'process test');
  for (const name of ['process test', 'test_cast']) {
    expect([named(spans, name).status?.code, attributeOf(named(spans, name), 'error.type')]).toEqual([2, '22P02']);
  }
  expect(collector.bytes.join('')).not.toMatch(/of the caller|test_outside/);
});

test('an unreachable collector delays neither requests nor the shutdown', async () => {
  const config = readConfig({ ...t.env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  const away = await startTracing(config, 'away', openLog({ ...config, logLevel: 'silent' }, 'away'));
  try {
    expect((await score(await signIn(t), {})).status).toBe(200);
    const started = performance.now();
    await away.close();
    expect(performance.now() - started).toBeLessThan(10_000);
  } finally {
    tracing = await startTracing(t.app.config, 'test', t.app.log);
  }
});

test('the OpenTelemetry SDK is loaded only when tracing is on', async () => {
  const root = join(import.meta.dirname, '../../..');
  const script = `
    import { registerHooks } from 'node:module';
    const seen = [];
    registerHooks({ resolve: (specifier, context, next) => (seen.push(specifier), next(specifier, context)) });
    const { readConfig } = await import('${root}/src/config.ts');
    const { startTracing } = await import('${root}/src/platform/observability/tracing/tracing.ts');
    await import('${root}/src/app.ts');
    await import('${root}/workers/worker-pool.ts');
    await startTracing(readConfig({}), 'off', null);
    console.log(JSON.stringify({ modules: seen.length, telemetry: seen.filter((one) => /opentelemetry/.test(one)) }));
    await startTracing(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }), 'on', null);
    console.log(JSON.stringify({ telemetry: seen.filter((one) => /opentelemetry/.test(one)) }));
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: root });
  const [off, on] = stdout
    .trim()
    .split('\n')
    .map((line): { modules: number; telemetry: string[] } => JSON.parse(line));
  expect(off?.modules).toBeGreaterThan(100);
  // prom-client loads @opentelemetry/api.
  expect(off?.telemetry.filter((one) => one !== '@opentelemetry/api')).toEqual([]);
  expect(on?.telemetry).toContain('@opentelemetry/sdk-trace');
});
