import type { WebhookSource } from '#config';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { parseJson } from '#platform/http/body.ts';
import { observeDelivery } from '#platform/observability/metrics/metrics.ts';
import { type ProcessedSource, processWebhook } from './jobs.ts';

/** Names a row of `webhook_deliveries`; it fits a job's payload as it is. */
export interface Delivery {
  readonly source: WebhookSource;
  /** `webhook-id`; for X the hex SHA-256 of the body. */
  readonly id: string;
}

/** What came of working on a delivery: for good, or that it has to be tried again. In one sentence. */
export interface Verdict {
  readonly outcome: 'worked' | 'failed' | 'again';
  readonly verdict: string;
}

/** How often a delivery is tried: 1, 2, 4 … s after it came, or was replayed, up to about nine hours. */
const MOST_TRIES = 16;
const MOST_SWEPT = 200;
/** A worked delivery is kept for so long, so that it is known when it comes again. */
const KEPT = '30 days';
const EXPIRED_AT_ONCE = 2_000;

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
const selectWaiting = statement<{ id: string }>(
  'select_waiting_deliveries',
  `select id from webhook_deliveries
   where state = 'received' and source = $1 and coalesce(replayed_at, received_at) + make_interval(secs => power(2, attempts)) <= (select app_now())
   order by received_at limit $2`,
);
const expireWorked = statement<{ n: number }>(
  'expire_webhook_deliveries',
  `with gone as (
     delete from webhook_deliveries where ctid = any(array(
       select ctid from webhook_deliveries
       where source = $1 and received_at < (select app_now()) - interval '${KEPT}' and state <> 'received' limit ${EXPIRED_AT_ONCE})) returning 1)
   select count(*)::int as n from gone`,
);

/** What is known of a delivery besides its body. */
export interface Received {
  readonly delivery: Delivery;
  /** ISO 8601 in UTC. */
  readonly at: string;
}

/**
 * Works on a stored delivery, if nobody has. The try is counted before it begins, so that one which brings the process
 * down does not do so for ever; the effect and the verdict are one commit.
 * @param prepare asks whoever has to be asked, outside any transaction; returns what is then done inside one
 */
export async function processDelivery(
  app: App,
  delivery: Delivery,
  prepare: (body: unknown, received: Received) => Promise<(tx: Tx) => Promise<Verdict>>,
): Promise<void> {
  const { source, id } = delivery;
  const row = (await app.tx((tx) => tx.query(begin, [source, id])))[0];
  if (!row) return;
  try {
    const work = await prepare(parseJson(row.body), { delivery, at: row.receivedAt });
    const concluded = await app.tx(async (tx) => {
      if ((await tx.query(lock, [source, id])).length === 0) return null;
      const { outcome, verdict } = lastTry(await work(tx), row.attempts);
      await tx.query(conclude, [source, id, outcome === 'again' ? 'received' : outcome, verdict]);
      return outcome;
    });
    if (concluded !== null) observeDelivery(source, concluded);
  } catch (err) {
    app.log.warn({ err, source, id, attempt: row.attempts }, 'a webhook delivery could not be worked on');
    const reason = err instanceof Error ? err.message : String(err);
    const { outcome, verdict } = lastTry({ outcome: 'again', verdict: reason }, row.attempts);
    await app.tx((tx) => tx.query(conclude, [source, id, outcome === 'again' ? 'received' : outcome, verdict.slice(0, 500)]));
    observeDelivery(source, outcome);
  }
}

const lastTry = ({ outcome, verdict }: Verdict, attempts: number): Verdict =>
  outcome === 'again' && attempts >= MOST_TRIES
    ? { outcome: 'failed', verdict: `given up after ${attempts} tries: ${verdict}` }
    : { outcome, verdict };

/** Rings for deliveries whose next try is due, or whose bell was lost. */
export async function enqueueDueDeliveries(app: App, source: ProcessedSource): Promise<void> {
  const waiting = await app.db.query(selectWaiting, [source, MOST_SWEPT]);
  if (waiting.length > 0) await app.queues.add(waiting.map(({ id }) => ({ job: processWebhook, payload: { source, id } })));
}

/** Forgets deliveries that were worked on long ago, a bounded number at a time; returns whether there may be more. */
export async function expireDeliveries(tx: Tx, source: Delivery['source']): Promise<boolean> {
  return ((await tx.query(expireWorked, [source]))[0]?.n ?? 0) >= EXPIRED_AT_ONCE;
}

/** A delivery as operators see it. */
export interface StoredDelivery extends Delivery {
  state: (typeof DELIVERY_STATES)[number];
  /** What came of it, or of the last try. */
  verdict: string | null;
  attempts: number;
  /** Size of the body, bytes. */
  bytes: number;
  /** ISO 8601 in UTC. */
  receivedAt: string;
  replayedAt: string | null;
  settledAt: string | null;
}

/** received: it waits, or is being worked on. */
export const DELIVERY_STATES = ['received', 'worked', 'failed'] as const;
/** No further are deliveries counted. */
const MOST_COUNTED = 10_000;

const COLUMNS = `source, id, state, verdict, attempts, octet_length(body) as bytes, ${instant('received_at')} as "receivedAt",
  ${instant('replayed_at')} as "replayedAt", ${instant('settled_at')} as "settledAt"`;

/** Deliveries newest first, and how many there are, up to a bound. The conditions are written out, so that each combination finds its index. */
export async function listDeliveries(
  db: Queryable,
  filter: { readonly source?: Delivery['source'] | undefined; readonly state?: StoredDelivery['state'] | undefined },
  limit: number,
  offset: number,
): Promise<{ deliveries: StoredDelivery[]; total: number }> {
  const given = Object.entries({ source: filter.source, state: filter.state }).filter(([, value]) => value !== undefined);
  const where = given.map(([column], i) => `${column} = $${i + 1}`).join(' and ') || 'true';
  const values = given.map(([, value]) => value);
  const page = `order by received_at desc, source, id limit $${given.length + 1} offset $${given.length + 2}`;
  const [deliveries, count] = await Promise.all([
    db.query<StoredDelivery>({ text: `select ${COLUMNS} from webhook_deliveries where ${where} ${page}` }, [...values, limit, offset]),
    db.query<{ n: number }>(
      { text: `select count(*)::int as n from (select 1 from webhook_deliveries where ${where} limit ${MOST_COUNTED}) as counted` },
      values,
    ),
  ]);
  return { deliveries, total: count[0]?.n ?? 0 };
}

const selectStored = statement<StoredDelivery & { body: Buffer }>(
  'read_webhook_delivery',
  `select ${COLUMNS}, body from webhook_deliveries where source = $1 and id = $2`,
);

/** A delivery with its body, which is UTF-8 as its route has checked; undefined where there is none. */
export async function readStoredDelivery(db: Queryable, { source, id }: Delivery): Promise<(StoredDelivery & { body: string }) | undefined> {
  const [stored] = await db.query(selectStored, [source, id]);
  return stored && { ...stored, body: stored.body.toString('utf8') };
}

const replay = statement<StoredDelivery>(
  'replay_webhook_delivery',
  `update webhook_deliveries set state = 'received', attempts = 0, verdict = null, settled_at = null, replayed_at = app_now()
   where source = $1 and id = $2 and state <> 'received' returning ${COLUMNS}`,
);

/**
 * Puts a delivery back to those that wait, as new. Its effect is idempotent at every source, so that one which was worked on changes nothing.
 * The caller rings.
 */
export async function replayDelivery(tx: Tx, { source, id }: Delivery): Promise<StoredDelivery | 'at work' | 'unknown'> {
  const [replayed] = await tx.query(replay, [source, id]);
  if (replayed) return replayed;
  return (await tx.query(selectStored, [source, id])).length > 0 ? 'at work' : 'unknown';
}
