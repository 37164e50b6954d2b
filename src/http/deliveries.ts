import { type WorkedSource, workDelivery } from '../../jobs/webhooks.ts';
import type { App } from '../context.ts';
import { statement } from '../db/sql.ts';
import type { Tx } from '../tx.ts';
import { parseJson } from './body.ts';
import type { Delivery } from './webhook.ts';

/** What came of working on a delivery: for good, or that it has to be tried again. In one sentence. */
export interface Verdict {
  readonly outcome: 'worked' | 'failed' | 'again';
  readonly verdict: string;
}

/** How often a delivery is tried: 1, 2, 4 … s after it came, up to about nine hours. */
const MOST_TRIES = 16;
const MOST_SWEPT = 200;
/** A worked delivery is kept for so long, so that it is known when it comes again. */
const KEPT = '30 days';
const EXPIRED_AT_ONCE = 2_000;

const begin = statement<{ body: Buffer; attempts: number; receivedAt: string }>(
  'begin_webhook_delivery',
  `update webhook_deliveries set attempts = attempts + 1 where source = $1 and id = $2 and state = 'received'
   returning body, attempts, to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt"`,
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
   where state = 'received' and source = $1 and received_at + make_interval(secs => power(2, attempts)) <= (select app_now())
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
export async function workOnDelivery(
  app: App,
  delivery: Delivery,
  prepare: (body: unknown, received: Received) => Promise<(tx: Tx) => Promise<Verdict>>,
): Promise<void> {
  const { source, id } = delivery;
  const row = (await app.tx((tx) => tx.query(begin, [source, id])))[0];
  if (!row) return;
  try {
    const work = await prepare(parseJson(row.body), { delivery, at: row.receivedAt });
    await app.tx(async (tx) => {
      if ((await tx.query(lock, [source, id])).length === 0) return;
      const { outcome, verdict } = lastTry(await work(tx), row.attempts);
      await tx.query(conclude, [source, id, outcome === 'again' ? 'received' : outcome, verdict]);
    });
  } catch (err) {
    app.log.warn({ err, source, id, attempt: row.attempts }, 'a webhook delivery could not be worked on');
    const reason = err instanceof Error ? err.message : String(err);
    const { outcome, verdict } = lastTry({ outcome: 'again', verdict: reason }, row.attempts);
    await app.tx((tx) => tx.query(conclude, [source, id, outcome === 'again' ? 'received' : outcome, verdict.slice(0, 500)]));
  }
}

const lastTry = ({ outcome, verdict }: Verdict, attempts: number): Verdict =>
  outcome === 'again' && attempts >= MOST_TRIES
    ? { outcome: 'failed', verdict: `given up after ${attempts} tries: ${verdict}` }
    : { outcome, verdict };

/** Rings for deliveries whose next try is due, or whose bell was lost. */
export async function ringDeliveries(app: App, source: WorkedSource): Promise<void> {
  const waiting = await app.db.query(selectWaiting, [source, MOST_SWEPT]);
  if (waiting.length > 0) await app.queues.add(waiting.map(({ id }) => ({ job: workDelivery, payload: { source, id } })));
}

/** Forgets deliveries that were worked on long ago, a bounded number at a time; returns whether there may be more. */
export async function expireDeliveries(tx: Tx, source: Delivery['source']): Promise<boolean> {
  return ((await tx.query(expireWorked, [source]))[0]?.n ?? 0) >= EXPIRED_AT_ONCE;
}
