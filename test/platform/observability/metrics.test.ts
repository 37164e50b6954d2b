import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { rememberBalances } from '#areas/lottery/treasury-gauges.ts';
import { purgeExpired } from '#jobs/maintenance.ts';
import { QUEUES } from '#jobs/queues.ts';
import { startOperations } from '#platform/observability/health.ts';
import { registry } from '#platform/observability/metrics/metrics.ts';
import { untilReady } from '#platform/redis/connection.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { debt, oweAll, type PayoutsTest, startPayoutsTest, untilPaid } from '#test/support/areas/payouts.ts';
import { eventually } from '#test/support/areas/player.ts';
import { familyOf, readExposition, type Scrape } from '#test/support/http/exposition.ts';
import { startKit } from '#test/support/http/framework.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { signIn } from '#test/support/wallet.ts';

interface Operations {
  readonly port: number;
  close(): Promise<void>;
}
let t: PayoutsTest;
let api: Operations;
beforeAll(async () => {
  // What other tests of this process have counted is theirs.
  registry.resetMetrics();
  t = await startPayoutsTest({ workers: false });
  api = await startOperations(t.app);
});
afterAll(async () => {
  await api.close();
  await t.close();
});

async function scrape({ port }: Operations): Promise<Scrape> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  return readExposition(await response.text());
}

/** Scrapes until what is kept for some seconds has been read anew, and is as it should be. */
async function untilScraped(check: (scraped: Scrape) => void, at: Operations = api): Promise<Scrape> {
  let last: Scrape | undefined;
  await eventually(async () => {
    last = await scrape(at);
    check(last);
  }, 60_000);
  if (!last) throw new Error('nothing was scraped');
  return last;
}

test('what waits for workers is seen while there are none', async () => {
  const player = await signIn(t);
  await t.app.queues.add([{ job: purgeExpired, payload: {} }]);
  await sql(t.app, `insert into outbox (type, payload, at) values ('notification', '{}', app_now() - interval '1 minute')`);
  await sql(t.app, `insert into webhook_deliveries (source, id, body_hash, body) values ('x', 'one', '', '')`);
  await oweAll(t, [debt()]);
  expect((await player.fetch('/me')).status).toBe(200);
  const seen = await untilScraped((now) => expect(now.value('coinop_payments', { payer: 'treasury', state: 'pending' })).toBe(1));
  expect(seen.value('coinop_queue_jobs', { queue: 'upkeep', state: 'waiting' })).toBe(1);
  expect(seen.value('coinop_queue_oldest_waiting_seconds', { queue: 'upkeep' })).toBeGreaterThan(0);
  expect(seen.samples.filter(({ name }) => name === 'coinop_queue_paused').map(({ labels }) => labels.queue)).toEqual([...QUEUES]);
  expect(seen.value('coinop_events_oldest_unpublished_seconds')).toBeGreaterThan(59);
  expect(seen.value('coinop_events_unpublished')).toBeGreaterThan(0);
  expect(seen.value('coinop_webhook_deliveries_waiting')).toBe(1);
  expect(seen.value('coinop_payments_oldest_seconds', { payer: 'treasury', state: 'pending' })).toBeGreaterThan(0);
  expect(seen.value('coinop_chain_paused', { scope: 'payouts' })).toBe(0);
  expect(seen.value('coinop_http_request_seconds_count', { method: 'GET', route: '/me', status: '200' })).toBe(1);
  expect(seen.value('coinop_sql_statements_total', { statement: 'find_session' })).toBeGreaterThan(0);
  expect(seen.value('coinop_sql_statement_seconds_total', { statement: 'find_session' })).toBeGreaterThan(0);
  for (const dependency of ['postgresql', 'migrations', 'redis']) expect(seen.value('coinop_dependency_up', { dependency })).toBe(1);
  await sql(t.app, `delete from outbox where type = 'notification'`);
});

test('fifty scrapes read the record and the queues as often as one', async () => {
  const statements = (now: Scrape) => now.value('coinop_sql_statements_total', { statement: 'metrics_events' }) ?? 0;
  const started = performance.now();
  const before = statements(await scrape(api));
  const all = await Promise.all(Array.from({ length: 50 }, () => scrape(api)));
  const passed = (performance.now() - started) / 1_000;
  expect(Math.max(...all.map(statements)) - before).toBeLessThanOrEqual(1 + passed / 5);
});

test('what workers do is measured: jobs, landings, events, scores, streams; and what the chain holds', async () => {
  const stream = await openEvents(t);
  await stream.until('the stream is open', () => stream.comments.length > 0);
  const worker = await startWorker(t.env);
  const ofWorker = await startOperations(worker.app);
  try {
    const player = await signIn(t);
    expect((await player.fetch('/arcade/score', { json: { gameId: 'token-pusher', score: 420 } })).status).toBe(200);
    await untilPaid(t, await oweAll(t, [debt()]));
    await stream.count(1, 'score_update');
    await rememberBalances(worker.app);
    const seen = await untilScraped((now) => {
      expect(now.value('coinop_chain_balance', { role: 'treasury', asset: 'usdc' })).toBeGreaterThan(0);
      expect(now.value('coinop_chain_outflow', { asset: 'usdc' })).toBeGreaterThan(0);
      expect(now.value('coinop_events_oldest_unpublished_seconds')).toBe(0);
    }, ofWorker);
    expect(seen.value('coinop_chain_balance', { role: 'fee_payer', asset: 'sol' })).toBeGreaterThan(0);
    expect(seen.value('coinop_chain_outflow_limit', { asset: 'usdc' })).toBe(Number(t.app.config.chain.dailyLimits.usdc));
    expect(seen.value('coinop_chain_balances_read_timestamp_seconds')).toBeGreaterThan(1_000_000_000);
    for (const outcome of ['signed', 'finalized']) {
      expect(seen.value('coinop_chain_attempts_total', { kind: 'payout-batch', outcome })).toBeGreaterThan(0);
    }
    expect(seen.value('coinop_chain_landing_seconds_count', { kind: 'payout-batch', stage: 'finalized' })).toBeGreaterThan(0);
    expect(seen.value('coinop_chain_rpc_seconds_count', { method: 'sendTransaction', outcome: 'answered' })).toBeGreaterThan(0);
    expect(seen.samples.filter(({ name, labels }) => name.startsWith('coinop_chain_rpc') && labels.method === 'other')).toEqual([]);
    expect(seen.value('coinop_job_seconds_count', { name: 'record-scores', outcome: 'done' })).toBe(1);
    expect(seen.value('coinop_job_wait_seconds_count', { queue: 'scores' })).toBe(1);
    expect(seen.value('coinop_jobs_given_up_total', { name: 'record-scores' })).toBe(0);
    expect(seen.value('coinop_scores_total', { outcome: 'accepted' })).toBe(1);
    expect(seen.value('coinop_events_publish_seconds_count')).toBeGreaterThan(0);
    expect(seen.value('coinop_sql_transaction_seconds_count', { outcome: 'committed' })).toBeGreaterThan(0);
    expect(seen.value('coinop_redis_command_seconds_count', { command: 'get' })).toBeGreaterThan(0);
    expect(seen.value('coinop_sse_sent_bytes_total')).toBeGreaterThan(0);
    const ofApi = await scrape(api);
    expect(ofApi.value('coinop_sse_subscribers')).toBe(1);
    await named(ofApi);
  } finally {
    stream.close();
    await ofWorker.close();
    await worker.close();
  }
});

test('a scrape tells what it can while PostgreSQL is away, and nothing that it does not know', async () => {
  const without = await startKit([], { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' } });
  await untilReady(without.app.redis);
  const operations = await startOperations(without.app);
  try {
    const seen = await untilScraped((now) => expect(now.value('coinop_dependency_up', { dependency: 'redis' })).toBe(1), operations);
    expect(seen.value('coinop_dependency_up', { dependency: 'postgresql' })).toBe(0);
    expect(seen.types.get('coinop_events_oldest_unpublished_seconds')).toBe('gauge');
    expect(seen.value('coinop_events_oldest_unpublished_seconds')).toBeUndefined();
    expect(seen.value('coinop_queue_jobs', { queue: 'scores', state: 'waiting' })).toBe(0);
    expect(seen.value('coinop_sql_failures_total', { code: 'none' })).toBeGreaterThan(0);
  } finally {
    await operations.close();
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

/** Words of the query language, and the one thing that Prometheus adds itself. */
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'up']);

/** The metrics that an expression names, and the labels that it picks them by. */
function metricsIn(expr: string): { name: string; labels: string[] }[] {
  const texts = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const bare = texts.replace(/\[[^\]]*\]/g, '').replace(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/([a-zA-Z_:][\w:]*)(\s*\()?(?:\{([^}]*)\})?/g)].flatMap(([, name = '', call, pairs = '']) =>
    call !== undefined || WORDS.has(name) || /^e\d*$/.test(name)
      ? []
      : [{ name, labels: [...pairs.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label) }],
  );
}

/** Every expression of the dashboard and of the alerts against what processes really tell. */
async function named(seen: Scrape): Promise<void> {
  const expressions = [...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)), ...alerts.map(({ expr }) => expr)];
  expect(expressions.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  for (const { name, labels } of expressions.flatMap(metricsIn)) {
    const series = seen.samples.filter((sample) => sample.name === name);
    const family = familyOf(name, seen.types);
    if (!seen.types.has(family)) wrong.push(`there is no ${name}`);
    // A histogram is asked for by its parts.
    if (seen.types.get(family) === 'histogram' && family === name) wrong.push(`${name} is a histogram`);
    for (const label of labels) {
      const isTold = series.length === 0 || series.some((sample) => label in sample.labels) || label === 'job';
      if (!isTold) wrong.push(`${name} has no label ${label}`);
    }
  }
  expect(wrong).toEqual([]);
  const used = new Set(expressions.flatMap(metricsIn).map(({ name }) => familyOf(name, seen.types)));
  expect([...seen.types.keys()].filter((name) => name.startsWith('coinop_') && !used.has(name))).toEqual([]);
}

test('expressions are taken apart as the query language reads them', () => {
  expect(metricsIn('sum by (le, route) (rate(a_bucket{route=~"/x{id}|b", le!="1"}[5m])) / max(b_total) > 1e9 and on (x) up == 0')).toEqual([
    { name: 'a_bucket', labels: ['route', 'le'] },
    { name: 'b_total', labels: [] },
  ]);
});

test('every alert says how bad it is, what it means and what to do; operators find it by its name', () => {
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

test('Prometheus is told of rules that are there, and the dashboard is one that Grafana takes', () => {
  const config: { rule_files: string[]; scrape_configs: { job_name: string }[] } = parse(read('prometheus/prometheus.yml'));
  for (const file of config.rule_files) expect(existsSync(join(ops, 'prometheus', file))).toBe(true);
  expect(config.scrape_configs.map((one) => one.job_name)).toEqual(['coinop-api', 'coinop-worker']);
  expect([dashboard.uid, dashboard.title]).toEqual(['coinop', 'Coinop']);
  for (const { type, title, targets } of dashboard.panels) {
    expect([title, type === 'row' || (targets?.length ?? 0) > 0]).toEqual([title, true]);
  }
});
