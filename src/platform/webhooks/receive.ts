import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { enforceRateLimit, type RateLimit } from '#platform/auth/rate-limit.ts';
import { WebhookDeliveriesTable } from '#platform/db/entities.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { isJson, MAX_JSON_BYTES, parseJson, readBytes } from '#platform/http/body.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { type Reply, reply } from '#platform/http/route.ts';
import type { WebhookSource } from './config.ts';
import type { Delivery } from './inbox.ts';
import { STANDARD_SIGNATURE, usesStandardWebhooks, verifyStandard, verifyX, X_SIGNATURE } from './signature.ts';

/** Response body of every webhook route. It confirms that the delivery is stored. */
export const Acknowledged = z.object({ received: z.literal(true) }).meta({ id: 'Acknowledged', example: { received: true } });

/** Returns the response of a webhook handler: 200 with `Acknowledged`. */
export const acknowledged = () => reply(200, { received: true as const });

/** Rate limit for the deliveries of one source. */
export const DELIVERY_RATE_LIMIT: RateLimit = { name: 'deliveries', max: 500, windowMs: 1_000 };

/** A delivery with a valid signature. */
export interface VerifiedDelivery {
  readonly delivery: Delivery;
  /** The raw body. */
  readonly bytes: Buffer;
  /** The parsed body. */
  readonly value: object;
}

/**
 * Reads a delivery from a request and verifies the signature of its raw body. Malformed headers, a wrong signature and a source without a configured
 * secret all get the same 401, so that the response does not tell an unauthenticated sender the cause.
 * @throws 401 when the signature is not valid; 413 when the body is too large; 415 when the body is compressed or not JSON; 400 when the body is
 * incomplete or not a JSON object
 */
export async function readDelivery(app: App, request: IncomingMessage, source: WebhookSource): Promise<VerifiedDelivery> {
  const keys = app.config.webhookKeys[source];
  if (keys.length === 0) throw unsigned(source);
  const bytes = await readBytes(request, MAX_JSON_BYTES);
  const { headers } = request;
  const id = usesStandardWebhooks(source) ? verifyStandard(keys, headers, bytes, app.clock.now()) : verifyX(keys, headers, bytes);
  if (id === null) throw unsigned(source);
  if (!isJson(headers['content-type'])) throw fail(415, 'Content-Type must be application/json');
  const value = bytes.length === 0 ? null : parseJson(bytes);
  // Accepts only JSON objects. In the response to X's challenge, the service signs the challenge text with the key that also signs deliveries. An
  // attacker could send this text and its signature as a delivery, but a challenge text is never a JSON object.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fail(400, 'the body must be a JSON object');
  return { delivery: { source, id }, bytes, value };
}

const unsigned = (source: WebhookSource) =>
  fail(401, `${usesStandardWebhooks(source) ? STANDARD_SIGNATURE : X_SIGNATURE} must be a valid and recent signature of this delivery`);

/**
 * Counts a delivery of a source and enforces the rate limit of the source. While Redis is down no limit applies, because storing a delivery needs
 * only PostgreSQL.
 * @throws 429 when the source exceeds its limit
 */
export async function countDelivery(app: App, source: WebhookSource): Promise<void> {
  try {
    await enforceRateLimit(app, DELIVERY_RATE_LIMIT, source);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
}

// When the same delivery arrives twice at the same time, the second insert waits at most 2 s for the commit of the first. After 2 s the second
// request gets a 503, and its sender retries. The timeout also applies to the locks that the handler takes in the same transaction.
const insertDelivery = statement<{ id: string }>(
  'insert_webhook_delivery',
  `with timeout as materialized (select set_config('lock_timeout', '2s', true))
   insert into webhook_deliveries (source, id, body_hash, body)
   select $1, $2, $3::bytea, $4::bytea from timeout on conflict do nothing returning id`,
);
const build = queryBuilder([WebhookDeliveriesTable]);

/**
 * Stores a delivery and runs `work` in the same transaction. Idempotent per (source, id): a repeated delivery is acknowledged without running `work`. When
 * `work` throws, nothing is stored, so the sender may retry.
 *
 * A handler should only enqueue the job that processes the row, or do work that is equally fast:
 * `handler: ({ delivery, once }) => once(async (tx) => { tx.enqueue(processWebhook, delivery); return acknowledged(); })`.
 * Redis may lose the job, so a sweep enqueues it again for rows that stay in the state `received`.
 * @throws 409 when a stored delivery has the same id and another body
 */
export async function storeOnce(app: App, { delivery, bytes }: VerifiedDelivery, work: (tx: Tx) => Promise<Reply>): Promise<Reply> {
  const { source, id } = delivery;
  const hash = createHash('sha256').update(bytes).digest();
  return await app.tx(async (tx) => {
    const stored = await tx.query(insertDelivery, [source, id, hash, bytes]);
    if (stored.length > 0) return await work(tx);
    const [known] = await run(tx, build.selectFrom('webhook_deliveries').select('body_hash').where('source', '=', source).where('id', '=', id));
    if (known?.body_hash.equals(hash)) return acknowledged();
    app.log.warn({ source, id }, 'a webhook delivery has the id of an earlier one and another body; it is rejected with 409');
    throw fail(409, `${usesStandardWebhooks(source) ? 'webhook-id' : 'the id of this delivery'} was used before with another body`);
  });
}
