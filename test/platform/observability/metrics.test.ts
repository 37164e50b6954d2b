import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { storeBalances } from '#areas/lottery/treasury-gauges.ts';
import { purgeExpired } from '#jobs/maintenance.ts';
import { QUEUES } from '#jobs/queues.ts';
import { startHealthServer } from '#platform/observability/health.ts';
import { registry } from '#platform/observability/metrics/metrics.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createAllPayments, type PayoutsTest, paymentRequest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { familyOf, readExposition, type Scrape } from '#test/support/http/exposition.ts';
import { startTestServer } from '#test/support/http/framework.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { signIn } from '#test/support/wallet.ts';

interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}
let t: PayoutsTest;
let api: HealthServer;
beforeAll(async () => {
  // Other test files in this process have counted already.
  registry.resetMetrics();
  t = await startPayoutsTest({ workers: false });
  api = await startHealthServer(t.app);
});
afterAll(async () => {
  await api.close();
  await t.close();
});

async function scrape({ port }: HealthServer): Promise<Scrape> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  return readExposition(await response.text());
}

/** Scrapes until the check passes. Gauges are cached for some seconds. */
async function untilScraped(check: (scraped: Scrape) => void, at: HealthServer = api): Promise<Scrape> {
  let last: Scrape | undefined;
  await retryUntilPass(async () => {
    last = await scrape(at);
    check(last);
  }, 60_000);
  if (!last) throw new Error('nothing was scraped');
  return last;
}

test('a scrape without workers shows waiting jobs, unpublished events, pending deliveries and payments', async () => {
  const player = await signIn(t);
  await t.app.queues.add([{ job: purgeExpired, payload: {} }]);
  await sql(t.app, `insert into outbox (type, payload, at) values ('notification', '{}', app_now() - interval '1 minute')`);
  await sql(t.app, `insert into webhook_deliveries (source, id, body_hash, body) values ('x', 'one', '', '')`);
  await createAllPayments(t, [paymentRequest()]);
  expect((await player.fetch('/me')).status).toBe(200);
  const seen = await untilScraped((now) => expect(now.value('coinop_payments', { payer: 'treasury', state: 'pending' })).toBe(1));
  expect(seen.value('coinop_queue_jobs', { queue: 'maintenance', state: 'waiting' })).toBe(1);
  expect(seen.value('coinop_queue_oldest_waiting_seconds', { queue: 'maintenance' })).toBeGreaterThan(0);
  expect(seen.samples.filter(({ name }) => name === 'coinop_queue_paused').map(({ labels }) => labels.queue)).toEqual([...QUEUES]);
  expect(seen.value('coinop_events_oldest_unpublished_seconds')).toBeGreaterThan(59);
  expect(seen.value('coinop_events_unpublished')).toBeGreaterThan(0);
  expect(seen.value('coinop_webhook_deliveries_pending')).toBe(1);
  expect(seen.value('coinop_payments_oldest_seconds', { payer: 'treasury', state: 'pending' })).toBeGreaterThan(0);
  expect(seen.value('coinop_chain_paused', { scope: 'payouts' })).toBe(0);
  expect(seen.value('coinop_http_request_seconds_count', { method: 'GET', route: '/me', status: '200' })).toBe(1);
  expect(seen.value('coinop_sql_statements_total', { statement: 'find_session' })).toBeGreaterThan(0);
  expect(seen.value('coinop_sql_statement_seconds_total', { statement: 'find_session' })).toBeGreaterThan(0);
  for (const dependency of ['postgresql', 'migrations', 'redis']) expect(seen.value('coinop_dependency_up', { dependency })).toBe(1);
  await sql(t.app, `delete from outbox where type = 'notification'`);
});

test('fifty concurrent scrapes query the database as often as one', async () => {
  const statements = (now: Scrape) => now.value('coinop_sql_statements_total', { statement: 'metrics_events' }) ?? 0;
  const started = performance.now();
  const before = statements(await scrape(api));
  const all = await Promise.all(Array.from({ length: 50 }, () => scrape(api)));
  const passed = (performance.now() - started) / 1_000;
  expect(Math.max(...all.map(statements)) - before).toBeLessThanOrEqual(1 + passed / 5);
});

test('a scrape of a worker has metrics of jobs, transactions, events, scores, streams and balances', async () => {
  const stream = await openEvents(t);
  await stream.until('the stream is open', () => stream.comments.length > 0);
  const worker = await startWorker(t.env);
  const workerHealth = await startHealthServer(worker.app);
  try {
    const player = await signIn(t);
    expect((await player.fetch('/arcade/score', { json: { gameId: 'token-pusher', score: 420 } })).status).toBe(200);
    await untilPaid(t, await createAllPayments(t, [paymentRequest()]));
    await stream.count(1, 'score_update');
    await storeBalances(worker.app);
    const seen = await untilScraped((now) => {
      expect(now.value('coinop_chain_balance', { role: 'treasury', asset: 'usdc' })).toBeGreaterThan(0);
      expect(now.value('coinop_chain_outflow', { asset: 'usdc' })).toBeGreaterThan(0);
      expect(now.value('coinop_events_oldest_unpublished_seconds')).toBe(0);
    }, workerHealth);
    expect(seen.value('coinop_chain_balance', { role: 'fee_payer', asset: 'sol' })).toBeGreaterThan(0);
    for (const labels of [
      { role: 'fee_payer', asset: 'sol' },
      { role: 'treasury', asset: 'usdc' },
    ]) {
      expect(seen.value('coinop_chain_balance_days_left', labels)).toBeGreaterThan(0);
    }
    expect(seen.value('coinop_chain_outflow_limit', { asset: 'usdc' })).toBe(Number(t.app.config.chain.dailyLimits.usdc));
    expect(seen.value('coinop_chain_balances_read_timestamp_seconds')).toBeGreaterThan(1_000_000_000);
    for (const outcome of ['signed', 'finalized']) {
      expect(seen.value('coinop_chain_attempts_total', { kind: 'payout-batch', outcome })).toBeGreaterThan(0);
    }
    expect(seen.value('coinop_chain_confirmation_seconds_count', { kind: 'payout-batch', stage: 'finalized' })).toBeGreaterThan(0);
    expect(seen.value('coinop_chain_rpc_seconds_count', { method: 'sendTransaction', outcome: 'answered' })).toBeGreaterThan(0);
    expect(seen.samples.filter(({ name, labels }) => name.startsWith('coinop_chain_rpc') && labels.method === 'other')).toEqual([]);
    expect(seen.value('coinop_job_seconds_count', { name: 'record-scores', outcome: 'done' })).toBe(1);
    expect(seen.value('coinop_job_wait_seconds_count', { queue: 'scores' })).toBe(1);
    expect(seen.value('coinop_jobs_failed_total', { name: 'record-scores' })).toBe(0);
    expect(seen.value('coinop_scores_total', { outcome: 'accepted' })).toBe(1);
    expect(seen.value('coinop_events_publish_seconds_count')).toBeGreaterThan(0);
    expect(seen.value('coinop_sql_transaction_seconds_count', { outcome: 'committed' })).toBeGreaterThan(0);
    expect(seen.value('coinop_redis_command_seconds_count', { command: 'get' })).toBeGreaterThan(0);
    expect(seen.value('coinop_sse_sent_bytes_total')).toBeGreaterThan(0);
    const apiScrape = await scrape(api);
    expect(apiScrape.value('coinop_sse_subscribers')).toBe(1);
    await checkExpressions(apiScrape);
  } finally {
    stream.close();
    await workerHealth.close();
    await worker.close();
  }
});

test('while PostgreSQL is down, a scrape has all other metrics and no database gauges', async () => {
  const without = await startTestServer([], { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' } });
  await untilReady(without.app.redis);
  const health = await startHealthServer(without.app);
  try {
    const seen = await untilScraped((now) => expect(now.value('coinop_dependency_up', { dependency: 'redis' })).toBe(1), health);
    expect(seen.value('coinop_dependency_up', { dependency: 'postgresql' })).toBe(0);
    expect(seen.types.get('coinop_events_oldest_unpublished_seconds')).toBe('gauge');
    expect(seen.value('coinop_events_oldest_unpublished_seconds')).toBeUndefined();
    expect(seen.value('coinop_queue_jobs', { queue: 'scores', state: 'waiting' })).toBe(0);
    expect(seen.value('coinop_sql_failures_total', { code: 'none' })).toBeGreaterThan(0);
  } finally {
    await health.close();
    await without.close();
  }
});

const ops = join(import.meta.dirname, '../../../ops');
const read = (file: string) => readFileSync(join(ops, file), 'utf8');

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
const alerts: Alert[] = parse(read('prometheus/alerts.yml')).groups.flatMap((group: { rules: Alert[] }) => group.rules);

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}
const dashboard: { uid: string; title: string; panels: Panel[] } = JSON.parse(read('grafana/coinop.json'));

/** Keywords of PromQL, and the metric `up`, which Prometheus adds itself. */
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'up']);

/** Returns the metrics in a PromQL expression with the labels of their selectors. */
function metricsIn(expr: string): { name: string; labels: string[] }[] {
  const texts = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const bare = texts.replace(/\[[^\]]*\]/g, '').replace(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/([a-zA-Z_:][\w:]*)(\s*\()?(?:\{([^}]*)\})?/g)].flatMap(([, name = '', call, pairs = '']) =>
    call !== undefined || WORDS.has(name) || /^e\d*$/.test(name)
      ? []
      : [{ name, labels: [...pairs.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label) }],
  );
}

/** Checks that every metric and label in the dashboard and the alerts exists in a scrape, and that every metric is used. */
async function checkExpressions(seen: Scrape): Promise<void> {
  const expressions = [...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)), ...alerts.map(({ expr }) => expr)];
  expect(expressions.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  for (const { name, labels } of expressions.flatMap(metricsIn)) {
    const series = seen.samples.filter((sample) => sample.name === name);
    const family = familyOf(name, seen.types);
    if (!seen.types.has(family)) wrong.push(`there is no ${name}`);
    // A histogram has only the series _bucket, _sum and _count.
    if (seen.types.get(family) === 'histogram' && family === name) wrong.push(`${name} is a histogram`);
    for (const label of labels) {
      const exists = series.length === 0 || series.some((sample) => label in sample.labels) || label === 'job';
      if (!exists) wrong.push(`${name} has no label ${label}`);
    }
  }
  expect(wrong).toEqual([]);
  const used = new Set(expressions.flatMap(metricsIn).map(({ name }) => familyOf(name, seen.types)));
  expect([...seen.types.keys()].filter((name) => name.startsWith('coinop_') && !used.has(name))).toEqual([]);
}

test('metricsIn returns the metrics and labels of a PromQL expression', () => {
  expect(metricsIn('sum by (le, route) (rate(a_bucket{route=~"/x{id}|b", le!="1"}[5m])) / max(b_total) > 1e9 and on (x) up == 0')).toEqual([
    { name: 'a_bucket', labels: ['route', 'le'] },
    { name: 'b_total', labels: [] },
  ]);
});

test('every alert has a severity, a summary, a runbook and an entry in ops/README.md', () => {
  const guide = read('README.md');
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  for (const { alert, expr, labels, annotations } of alerts) {
    expect([alert, ['page', 'ticket'].includes(labels.severity), annotations.summary.length > 10, annotations.runbook.length > 20]).toEqual([
      alert,
      true,
      true,
      true,
    ]);
    expect(metricsIn(expr).length + Number(expr.includes('up'))).toBeGreaterThan(0);
    expect(guide).toContain(`\`${alert}\``);
  }
});

test('the rule files of prometheus.yml exist, and every panel of the dashboard has a query', () => {
  const config: { rule_files: string[]; scrape_configs: { job_name: string }[] } = parse(read('prometheus/prometheus.yml'));
  for (const file of config.rule_files) expect(existsSync(join(ops, 'prometheus', file))).toBe(true);
  expect(config.scrape_configs.map((one) => one.job_name)).toEqual(['coinop-api', 'coinop-worker']);
  expect([dashboard.uid, dashboard.title]).toEqual(['coinop', 'Coinop']);
  for (const { type, title, targets } of dashboard.panels) {
    expect([title, type === 'row' || (targets?.length ?? 0) > 0]).toEqual([title, true]);
  }
});
