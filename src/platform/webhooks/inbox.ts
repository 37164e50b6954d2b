import { type InferResult, sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { WebhookDeliveriesTable } from '#platform/db/entities.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { parseJson } from '#platform/http/body.ts';
import { countDeliveryAttempt } from '#platform/observability/metrics/metrics.ts';
import type { WebhookSource } from './config.ts';
import { processWebhook } from './jobs.ts';

/** Key of a row of `webhook_deliveries`. The job that processes the row has this key as its payload. */
export interface Delivery {
  readonly source: WebhookSource;
  /** Value of the header `webhook-id`; for a delivery from X, the hex SHA-256 of its body. */
  readonly id: string;
}

/** Result of an attempt to process a delivery. `worked` and `failed` are final; after `retry` another attempt follows. */
export interface DeliveryVerdict {
  readonly outcome: 'worked' | 'failed' | 'retry';
  /** Reason for the outcome, one sentence for operators. */
  readonly verdict: string;
}

/**
 * Maximum attempts per delivery. The first attempt runs at once. The others are due 2, 4, 8 … s after the delivery was received or replayed, the last
 * one after about nine hours.
 */
const MAX_ATTEMPTS = 16;
/** Maximum deliveries that one sweep enqueues. */
const MAX_SWEPT = 200;
/** How long a processed delivery stays stored after its receipt. During this time, the service recognizes a repeated delivery. */
const RETENTION = '30 days';
/** Maximum rows that one purge deletes. */
const MAX_PURGED = 2_000;

const begin = statement<{ body: Buffer; attempts: number; receivedAt: string }>(
  'begin_webhook_delivery',
  `update webhook_deliveries set attempts = attempts + 1 where source = $1 and id = $2 and state = 'received'
   returning body, attempts, ${instant('received_at')} as "receivedAt"`,
);
const lock = statement<{ id: string }>(
  'lock_webhook_delivery',
  `select id from webhook_deliveries where source = $1 and id = $2 and state = 'received' for update`,
);
const conclude = statement(
  'conclude_webhook_delivery',
  `update webhook_deliveries set state = $3, verdict = $4, settled_at = case when $3 = 'received' then null else app_now() end
   where source = $1 and id = $2 and state = 'received'`,
);
/** SQL that returns the deliveries whose next attempt is due. */
export const DUE_DELIVERIES = `select id from webhook_deliveries
   where state = 'received' and coalesce(replayed_at, received_at) + make_interval(secs => power(2, attempts)) <= (select app_now())`;
const selectDue = statement<{ id: string }>('select_due_deliveries', `${DUE_DELIVERIES} and source = $1 order by received_at limit $2`);
const purgeWorked = statement<{ n: number }>(
  'purge_webhook_deliveries',
  `with deleted as (
     delete from webhook_deliveries where ctid = any(array(
       select ctid from webhook_deliveries
       where source = $1 and received_at < (select app_now()) - interval '${RETENTION}' and state <> 'received' limit ${MAX_PURGED})) returning 1)
   select count(*)::int as n from deleted`,
);

/** Key of a delivery and the time of its receipt. */
export interface ReceivedDelivery {
  readonly delivery: Delivery;
  /** Time of receipt, ISO 8601 in UTC. */
  readonly at: string;
}

/**
 * Makes one attempt to process a stored delivery. Does nothing unless the delivery is in the state `received`. The attempt is counted before it
 * begins, so that a delivery that crashes the process is not retried for ever. The effect of the delivery and the verdict are written in one
 * transaction.
 * @param prepare the function that runs first, outside any transaction, and may call external services. It returns a second function, which runs
 * inside the transaction and returns the verdict.
 */
export async function processDelivery(
  app: App,
  delivery: Delivery,
  prepare: (body: unknown, received: ReceivedDelivery) => Promise<(tx: Tx) => Promise<DeliveryVerdict>>,
): Promise<void> {
  const { source, id } = delivery;
  const row = (await app.tx((tx) => tx.query(begin, [source, id])))[0];
  if (!row) return;
  try {
    const work = await prepare(parseJson(row.body), { delivery, at: row.receivedAt });
    const concluded = await app.tx(async (tx) => {
      if ((await tx.query(lock, [source, id])).length === 0) return null;
      const { outcome, verdict } = limitAttempts(await work(tx), row.attempts);
      await tx.query(conclude, [source, id, outcome === 'retry' ? 'received' : outcome, verdict]);
      return outcome;
    });
    if (concluded !== null) countDeliveryAttempt(source, concluded);
  } catch (err) {
    app.log.warn(
      { err, source, id, attempt: row.attempts },
      'processing a webhook delivery failed; it is retried until the maximum number of attempts',
    );
    const reason = err instanceof Error ? err.message : String(err);
    const { outcome, verdict } = limitAttempts({ outcome: 'retry', verdict: reason }, row.attempts);
    await app.tx((tx) => tx.query(conclude, [source, id, outcome === 'retry' ? 'received' : outcome, verdict.slice(0, 500)]));
    countDeliveryAttempt(source, outcome);
  }
}

const limitAttempts = ({ outcome, verdict }: DeliveryVerdict, attempts: number): DeliveryVerdict =>
  outcome === 'retry' && attempts >= MAX_ATTEMPTS
    ? { outcome: 'failed', verdict: `failed after ${attempts} attempts: ${verdict}` }
    : { outcome, verdict };

/** Enqueues jobs for deliveries of a source whose next attempt is due, including deliveries whose job was lost. */
export async function enqueueDueDeliveries(app: App, source: WebhookSource): Promise<void> {
  const waiting = await app.db.query(selectDue, [source, MAX_SWEPT]);
  if (waiting.length > 0) await app.queues.add(waiting.map(({ id }) => ({ job: processWebhook, payload: { source, id } })));
}

/**
 * Deletes at most `MAX_PURGED` processed or failed deliveries of a source that are older than `RETENTION`. Returns whether more of them may exist.
 */
export async function purgeDeliveries(tx: Tx, source: Delivery['source']): Promise<boolean> {
  return ((await tx.query(purgeWorked, [source]))[0]?.n ?? 0) >= MAX_PURGED;
}

/** States of a delivery: received (pending or being processed), worked (processed), failed (for good). */
export const DELIVERY_STATES = ['received', 'worked', 'failed'] as const;
/** Maximum deliveries that `listDeliveries` counts. */
const MAX_COUNTED = 10_000;

const build = queryBuilder([WebhookDeliveriesTable]);
const deliveries = build.selectFrom('webhook_deliveries');

/**
 * The columns of a delivery that operators see. `verdict` is the result of the last attempt, one sentence; null before the first attempt. `bytes` is the
 * size of the body. Times are ISO 8601 in UTC.
 */
const COLUMNS = [
  'source',
  'id',
  'state',
  'verdict',
  'attempts',
  sql<number>`octet_length(body)`.as('bytes'),
  isoInstant('received_at').as('receivedAt'),
  isoInstant<string | null>('replayed_at').as('replayedAt'),
  isoInstant<string | null>('settled_at').as('settledAt'),
] as const;
const selectStored = deliveries.select(COLUMNS);
type StoredDelivery = InferResult<typeof selectStored>[number];

/**
 * Returns a page of the deliveries that match the filter, newest first, and the number of all matching deliveries up to `MAX_COUNTED`. The SQL
 * contains only the conditions that the filter sets, so that PostgreSQL uses the right index for each combination.
 */
export async function listDeliveries(
  db: Queryable,
  filter: { readonly source?: Delivery['source'] | undefined; readonly state?: StoredDelivery['state'] | undefined },
  limit: number,
  offset: number,
): Promise<{ deliveries: StoredDelivery[]; total: number }> {
  let matching = deliveries;
  if (filter.source !== undefined) matching = matching.where('source', '=', filter.source);
  if (filter.state !== undefined) matching = matching.where('state', '=', filter.state);
  const counted = matching.select('id').limit(sql.lit(MAX_COUNTED)).as('counted');
  const [page, count] = await Promise.all([
    run(db, matching.select(COLUMNS).orderBy('received_at', 'desc').orderBy('source').orderBy('id').limit(limit).offset(offset)),
    run(db, build.selectFrom(counted).select(sql<number>`count(*)::int`.as('n'))),
  ]);
  return { deliveries: page, total: count[0]?.n ?? 0 };
}

/** Returns a delivery with its body, or undefined when it does not exist. The body is valid UTF-8, because `readDelivery` rejects any other body. */
export async function readStoredDelivery(db: Queryable, { source, id }: Delivery): Promise<(StoredDelivery & { body: string }) | undefined> {
  const [stored] = await run(db, selectStored.select('body').where('source', '=', source).where('id', '=', id));
  return stored && { ...stored, body: stored.body.toString('utf8') };
}

/**
 * Resets a processed or failed delivery to the state `received` with 0 attempts. Processing is idempotent for every source, so replaying a processed
 * delivery changes nothing. The caller must enqueue the job that processes the delivery.
 * @returns the delivery after the reset; `pending` when it already waits or is being processed; `unknown` when it does not exist
 */
export async function replayDelivery(tx: Tx, { source, id }: Delivery): Promise<StoredDelivery | 'pending' | 'unknown'> {
  const replay = build
    .updateTable('webhook_deliveries')
    .set({ state: 'received', attempts: 0, verdict: null, settled_at: null, replayed_at: sql`app_now()` })
    .where('source', '=', source)
    .where('id', '=', id)
    .where('state', '<>', 'received')
    .returning(COLUMNS);
  const [replayed] = await run(tx, replay);
  if (replayed) return replayed;
  return (await run(tx, deliveries.select('id').where('source', '=', source).where('id', '=', id))).length > 0 ? 'pending' : 'unknown';
}
