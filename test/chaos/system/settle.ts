import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { System } from '#dev/stack/system.ts';
import { QUEUES } from '#jobs/queues.ts';
import type { Database } from './database.ts';

/** What is still on its way, in words: SQL that counts it. */
const UNDERWAY: { readonly [what: string]: string } = {
  'events are not published': 'select from outbox where publication is null',
  'batches of activities are not consumed': 'select from activity_batches',
  'deliveries are not worked on': `select from webhook_deliveries where state = 'received'`,
  'epochs are not on the chain': `select from epochs where state in ('computing', 'computed')`,
  'claims are not final': `select from claims where state in ('queued', 'submitted', 'confirmed')`,
  'payments are not final': `select from payments where payer = 'treasury' and state in ('pending', 'batched', 'confirmed')`,
  'transactions are pending': `select from chain_transactions where state in ('queued', 'live', 'confirmed')`,
  'tickets are being checked': `select from tickets where state = 'checking'`,
  'rounds are not over': `select from rounds where state in ('active', 'closing', 'committed')`,
  'battles are running': `select from battles where state = 'running'`,
};

/** After an outage landing waits up to a minute; nobody has to wait for that here. */
const HURRY = `update chain_transactions set next_at = app_now() where state = 'queued' and next_at > app_now()`;

/**
 * Waits until nothing is underway.
 * @returns what is, after all that time: a sentence each
 */
export async function settle(system: System, record: Database, withinMs: number): Promise<string[]> {
  const end = performance.now() + withinMs;
  const busy = new Set<string>(QUEUES);
  let left: string[] = [];
  do {
    await record.rows(HURRY);
    left = await underway(record);
    await lookAtQueues(system, busy);
    if (left.length === 0 && busy.size === 0) return [];
    await sleep(200);
  } while (performance.now() < end);
  return [...left, ...[...busy].map((name) => `jobs wait in the queue ${name}`)].map((what) => `not settled: ${what}`);
}

async function underway(record: Database): Promise<string[]> {
  const counts = Object.entries(UNDERWAY).map(([what, sql]) => `select ${quoted(what)} as what, count(*)::int as n from (${sql}) t`);
  const rows = await record.rows<{ what: string; n: number }>(counts.join(' union all '));
  return rows.filter(({ n }) => n > 0).map(({ what, n }) => `${n} ${what}`);
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Recurring jobs come all the time: a queue is drained that was empty once. */
async function lookAtQueues(system: System, busy: Set<string>): Promise<void> {
  const redis = new Redis(system.redis.url);
  try {
    for (const name of busy) {
      const key = (list: string) => `{coinop:${name}}:${name}:${list}`;
      const waiting = (await redis.llen(key('wait'))) + (await redis.llen(key('active'))) + (await redis.zcard(key('prioritized')));
      if (waiting === 0) busy.delete(name);
    }
  } finally {
    redis.disconnect();
  }
}
