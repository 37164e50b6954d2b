import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '#dev/stack/system.ts';
import { QUEUES } from '#jobs/queues.ts';
import { parseRedisUrl } from '#platform/redis/config.ts';
import { connect } from '#platform/redis/connection.ts';
import type { Database } from './database.ts';

/** Kinds of pending work: a description, and the SQL that selects the rows. */
const PENDING: { readonly [description: string]: string } = {
  'events are not published': 'select from outbox where publication is null',
  'batches of activities are not consumed': 'select from activity_batches',
  'webhook deliveries are not processed': `select from webhook_deliveries where state = 'received'`,
  'epochs are not on the chain': `select from epochs where state in ('computing', 'computed')`,
  'claims are not finalized': `select from claims where state in ('queued', 'submitted', 'confirmed')`,
  'payments are not finalized': `select from payments where payer = 'treasury' and state in ('pending', 'batched', 'confirmed')`,
  'transactions are pending': `select from chain_transactions where state in ('queued', 'live', 'confirmed')`,
  'tickets are being checked': `select from tickets where state = 'checking'`,
  'rounds are not finished': `select from rounds where state in ('active', 'closing', 'committed')`,
  'payouts are paused': 'select from chain_pauses',
  'battles are running': `select from battles where state = 'running'`,
};

/** Makes queued transactions due at once. After an outage their backoff is up to a minute. */
const RETRY_NOW = `update chain_transactions set next_at = app_now() where state = 'queued' and next_at > app_now()`;

/**
 * Waits until no work is pending.
 * @param onWait called before each look at the pending work
 * @returns one sentence per kind of work that is still pending after `withinMs`
 */
export async function settle(system: System, database: Database, withinMs: number, onWait = async () => {}): Promise<string[]> {
  const end = performance.now() + withinMs;
  const busy = new Set<string>(QUEUES);
  let left: string[] = [];
  do {
    try {
      await onWait();
      await database.rows(RETRY_NOW);
      left = await pendingWork(database);
      await removeIdleQueues(system, busy);
    } catch (error) {
      // A server may fail over once more, because the machine is slow.
      left = [`the pending work could not be read: ${String(error)}`];
    }
    if (left.length === 0 && busy.size === 0) return [];
    await sleep(200);
  } while (performance.now() < end);
  return [...left, ...[...busy].map((name) => `jobs wait in the queue ${name}`)].map((what) => `not settled: ${what}`);
}

async function pendingWork(database: Database): Promise<string[]> {
  const counts = Object.entries(PENDING).map(([what, sql]) => `select ${quoted(what)} as what, count(*)::int as n from (${sql}) t`);
  const rows = await database.rows<{ what: string; n: number }>(counts.join(' union all '));
  return rows.filter(({ n }) => n > 0).map(({ what, n }) => `${n} ${what}`);
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Removes idle queues from the set. Recurring jobs never end, so a queue counts as idle once it was empty. */
async function removeIdleQueues(system: System, busy: Set<string>): Promise<void> {
  const redis = connect(parseRedisUrl(system.redis.url), {});
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
