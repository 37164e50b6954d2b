import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookSource } from '#config';
import { constantTimeEqual } from '#lib/constant-time-equal.ts';

/** How far the timestamp of a delivery may be from now, either way, s. */
const TOLERANCE_SEC = 300;
/** The id and the timestamp are signed with full stops between: an id that holds one could be read in two ways. */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;
const TIMESTAMP = /^\d{1,12}$/;

/** The headers in which deliveries are signed. */
export const STANDARD_SIGNATURE = 'webhook-signature';
export const X_SIGNATURE = 'x-twitter-webhooks-signature';

/** Whether a source signs by Standard Webhooks. */
export const isStandard = (source: WebhookSource | null): boolean => source === 'payment-status' || source === 'chat-bridge';

const hmac = (key: Buffer, ...parts: (string | Buffer)[]): string => {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest('base64');
};

/**
 * Checks a delivery by Standard Webhooks 1.0 (standardwebhooks.com): `webhook-signature` is a list, separated by spaces,
 * in which one entry is `v1,` and the base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` under one of our
 * keys. Ours and not the package `standardwebhooks`: that one signs the body decoded as text, not its bytes, and has
 * its own clock.
 * @param body the bytes as they came
 * @returns the id of the delivery; null when anything is missing, malformed, too old, too new, or not signed
 */
export function verifyStandard(keys: readonly Buffer[], headers: IncomingHttpHeaders, body: Buffer, now: Date): string | null {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, [STANDARD_SIGNATURE]: signatures } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return null;
  if (!ID.test(id) || !TIMESTAMP.test(timestamp)) return null;
  if (Math.abs(Math.floor(now.getTime() / 1_000) - Number(timestamp)) > TOLERANCE_SEC) return null;
  const given = signatures.split(' ');
  const isSigned = keys.some((key) => {
    const expected = `v1,${hmac(key, `${id}.${timestamp}.`, body)}`;
    return given.some((one) => constantTimeEqual(one, expected));
  });
  return isSigned ? id : null;
}

/** What X signs with: `sha256=` and the base64 HMAC-SHA256. X's challenge is answered with the same. */
export const signatureOfX = (key: Buffer, body: string | Buffer): string => `sha256=${hmac(key, body)}`;

/**
 * Checks a delivery of X: `x-twitter-webhooks-signature` over the body.
 * @param body the bytes as they came
 * @returns the id of the delivery, which is the hex SHA-256 of its body; null when it is not signed
 */
export function verifyX(keys: readonly Buffer[], headers: IncomingHttpHeaders, body: Buffer): string | null {
  const given = headers[X_SIGNATURE];
  if (typeof given !== 'string') return null;
  return keys.some((key) => constantTimeEqual(given, signatureOfX(key, body))) ? createHash('sha256').update(body).digest('hex') : null;
}
