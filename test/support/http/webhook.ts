import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { WebhookSource } from '#platform/webhooks/config.ts';

/** Creates a secret in the format of Standard Webhooks. */
export const createSecret = (bytes = 32): string => `whsec_${randomBytes(bytes).toString('base64')}`;

/** Returns the signed headers of a Standard Webhooks delivery. @param at timestamp, seconds since 1970 */
export function standardHeaders(
  secret: string,
  id: string,
  at: number | string,
  body: string | Buffer,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` };
}

/** Returns the signature header of a delivery of X. */
export const xHeaders = (secret: string, body: string | Buffer): Record<'x-twitter-webhooks-signature', string> => ({
  'x-twitter-webhooks-signature': `sha256=${createHmac('sha256', secret).update(body).digest('base64')}`,
});

/** Returns the hex SHA-256 of a body, which is the id of a delivery of X. */
export const hashOf = (body: string | Buffer): string => createHash('sha256').update(body).digest('hex');

/** Sends a delivery to `POST /webhooks/{source}`. */
export const deliver = (t: { url: string }, source: WebhookSource, headers: Record<string, string>, body: string | Buffer): Promise<Response> =>
  fetch(`${t.url}/webhooks/${source}`, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body });
