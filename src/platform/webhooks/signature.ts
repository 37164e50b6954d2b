import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { constantTimeEqual } from '#lib/constant-time-equal.ts';
import type { WebhookSource } from './config.ts';

/** Maximum difference between the timestamp of a delivery and the current time, s. */
const TOLERANCE_SEC = 300;
/** Matches an id without full stops. The signed text separates its parts with full stops, so an id with full stops would make the text ambiguous. */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;
const TIMESTAMP = /^\d{1,12}$/;

/** Signature header of Standard Webhooks. */
export const STANDARD_SIGNATURE = 'webhook-signature';
/** Signature header of X. */
export const X_SIGNATURE = 'x-twitter-webhooks-signature';

/** Returns whether a source signs its deliveries by Standard Webhooks. */
export const usesStandardWebhooks = (source: WebhookSource | null): boolean => source === 'payment-status' || source === 'chat-bridge';

const hmac = (key: Buffer, ...parts: (string | Buffer)[]): string => {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest('base64');
};

/**
 * Verifies a delivery by Standard Webhooks 1.0 (standardwebhooks.com). The header `webhook-signature` is a list separated by spaces. One entry must
 * be `v1,` followed by the base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` under one of the keys. The package `standardwebhooks` is
 * not used, because it signs the body decoded as text instead of the bytes of the body, and because it reads the system clock.
 * @param body the raw body
 * @returns the id of the delivery; null when a header is missing or malformed, the timestamp is out of range, or no signature is valid
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

/**
 * Returns `sha256=` followed by the base64 HMAC-SHA256 of a text. X sends this value as the signature of a delivery, and expects it in the response
 * to its challenge.
 */
export const signForX = (key: Buffer, body: string | Buffer): string => `sha256=${hmac(key, body)}`;

/**
 * Verifies a delivery of X: the header `x-twitter-webhooks-signature` must be the signature of the body under one of the keys.
 * @param body the raw body
 * @returns the id of the delivery, which is the hex SHA-256 of its body; null when the signature is missing or wrong
 */
export function verifyX(keys: readonly Buffer[], headers: IncomingHttpHeaders, body: Buffer): string | null {
  const given = headers[X_SIGNATURE];
  if (typeof given !== 'string') return null;
  return keys.some((key) => constantTimeEqual(given, signForX(key, body))) ? createHash('sha256').update(body).digest('hex') : null;
}
