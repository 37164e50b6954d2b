import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { WebhookSource } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { countWithin, type Limit } from '#platform/auth/rate-limit.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { isJson, MAX_JSON_BYTES, parseJson, readBytes } from '#platform/http/body.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { type Reply, reply } from '#platform/http/route.ts';
import type { Delivery } from './inbox.ts';
import { isStandard, STANDARD_SIGNATURE, verifyStandard, verifyX, X_SIGNATURE } from './signature.ts';

/** What every webhook route answers with, `returns: { 200: Acknowledged }`: the delivery is stored. */
export const Acknowledged = z.object({ received: z.literal(true) }).meta({ id: 'Acknowledged', example: { received: true } });

/** The acknowledgment, for handlers that return it. */
export const acknowledged = () => reply(200, { received: true as const });

/** How many deliveries of a source are taken. */
export const DELIVERIES: Limit = { name: 'deliveries', most: 500, windowMs: 1_000 };

/** A delivery whose signature was good. */
export interface Delivered {
  readonly delivery: Delivery;
  /** The body as it came, and the object that it is. */
  readonly bytes: Buffer;
  readonly value: object;
}

/**
 * Reads a delivery and checks its signature over the bytes as they came. Before the signature is known to be good,
 * nothing is told but that it is not: malformed headers are as wrong as a forged signature, and so is a source that
 * has no secret.
 * @throws 401 when it is not signed; 413, 415 and 400 as for JSON bodies, and 400 for what is not an object
 */
export async function readDelivery(app: App, request: IncomingMessage, source: WebhookSource): Promise<Delivered> {
  const keys = app.config.webhookKeys[source];
  if (keys.length === 0) throw unsigned(source);
  const bytes = await readBytes(request, MAX_JSON_BYTES);
  const { headers } = request;
  const id = isStandard(source) ? verifyStandard(keys, headers, bytes, app.clock.now()) : verifyX(keys, headers, bytes);
  if (id === null) throw unsigned(source);
  if (!isJson(headers['content-type'])) throw fail(415, 'Content-Type must be application/json');
  const value = bytes.length === 0 ? null : parseJson(bytes);
  // X signs whatever its challenge asks for with the same key: what is not an object may be such an answer.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fail(400, 'the body must be a JSON object');
  return { delivery: { source, id }, bytes, value };
}

const unsigned = (source: WebhookSource) =>
  fail(401, `${isStandard(source) ? STANDARD_SIGNATURE : X_SIGNATURE} must be a valid and recent signature of this delivery`);

/**
 * Counts a delivery whose signature was good. To be stored it needs no Redis: while that is down, nothing is counted.
 * @throws 429 when the source delivers too much
 */
export async function countDelivery(app: App, source: WebhookSource): Promise<void> {
  try {
    await countWithin(app, DELIVERIES, source);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
}

// The same delivery, sent twice at once, waits here for the first one's commit: 2 s, then it is 503 and its sender comes
// again. So it is for the locks that the handler takes.
const insertDelivery = statement<{ id: string }>(
  'insert_webhook_delivery',
  `with patience as materialized (select set_config('lock_timeout', '2s', true))
   insert into webhook_deliveries (source, id, body_hash, body)
   select $1, $2, $3::bytea, $4::bytea from patience on conflict do nothing returning id`,
);
const findHash = statement<{ body_hash: Buffer }>('find_webhook_hash', 'select body_hash from webhook_deliveries where source = $1 and id = $2');

/**
 * Stores a delivery and runs `work` in that same transaction, once for each (source, id); the same again is
 * acknowledged and does nothing. When `work` refuses or fails, nothing is stored, and the sender may come again.
 *
 * A handler only rings the job that works on the row, or does what is as quick:
 * `handler: ({ delivery, once }) => once(async (tx) => { tx.ring(workDelivery, delivery); return acknowledged(); })`.
 * The bell may be lost with Redis: rows that stay in the state `received` are the sweep's.
 * @throws 409 when the id came before with another body
 */
export async function storeOnce(app: App, { delivery, bytes }: Delivered, work: (tx: Tx) => Promise<Reply>): Promise<Reply> {
  const { source, id } = delivery;
  const hash = createHash('sha256').update(bytes).digest();
  return await app.tx(async (tx) => {
    const stored = await tx.query(insertDelivery, [source, id, hash, bytes]);
    if (stored.length > 0) return await work(tx);
    const known = (await tx.query(findHash, [source, id]))[0];
    if (known?.body_hash.equals(hash)) return acknowledged();
    app.log.warn({ source, id }, 'a webhook delivery came again with another body');
    throw fail(409, `${isStandard(source) ? 'webhook-id' : 'the body'} was delivered before with another body`);
  });
}
