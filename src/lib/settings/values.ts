import { Wallet } from '../scalars.ts';

/** Parsers of settings. Each throws an error whose message names the setting, says what it must be, and contains no secret. */

/** Returns the HMAC key in a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Errors do not contain the secret. */
export function parseStandardSecret(variable: string, text: string): Buffer {
  const encoded = text.startsWith('whsec_') ? text.slice('whsec_'.length) : '';
  const key = Buffer.from(encoded, 'base64');
  if (key.toString('base64') === encoded && key.length >= 24 && key.length <= 64) return key;
  throw new Error(`${variable}: each secret must start with whsec_, followed by the base64 of 24 to 64 bytes`);
}

/** Parses the seed of an ed25519 key: base64 of 32 bytes. Errors do not contain the secret. */
export function parseSeed(variable: string, text: string): Buffer {
  const seed = Buffer.from(text, 'base64');
  if (seed.length === 32 && seed.toString('base64') === text) return seed;
  throw new Error(`${variable}: must be the base64 of 32 bytes`);
}

/** Returns the HMAC key for webhooks of X: the bytes of X's consumer secret, unchanged. */
export function parseConsumerSecret(text: string): Buffer {
  if (/^[\x21-\x7e]{16,256}$/.test(text)) return Buffer.from(text);
  throw new Error('WEBHOOK_SECRET_X: each secret must be 16 to 256 printable characters');
}

/**
 * Parses the URL of the front end. The paths of its pages are appended to it.
 * @throws when it has a query, a fragment or credentials, or is not https in production
 */
export function parseFrontendUrl(text: string, production: boolean): URL {
  const url = new URL(text);
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '' || /[?#]$/.test(text)) {
    throw new Error('FRONTEND_URL must not have a query, a fragment or credentials');
  }
  if (production && url.protocol !== 'https:') throw new Error('FRONTEND_URL must be https in production');
  return url;
}

/**
 * Parses the origin of media files.
 * @throws when it is more than an origin, is the origin of the service, or is not https in production
 */
export function parseMediaUrl(text: string, publicUrl: URL, production: boolean): URL {
  const url = new URL(text);
  if (url.href !== `${url.origin}/` || /[?#]$/.test(text)) throw new Error('MEDIA_URL must be an origin, without a path');
  if (url.host === publicUrl.host) throw new Error('MEDIA_URL must have another host than PUBLIC_URL');
  if (production && url.protocol !== 'https:') throw new Error('MEDIA_URL must be https in production');
  return url;
}

/**
 * Parses the source of the deny list: the path of a file, or a URL.
 * @throws when the URL has credentials or a fragment, or is not https in production. Errors do not contain the URL, because its query may contain a key
 */
export function parseDenyListSource(text: string, production: boolean): string | URL {
  if (!/^https?:/i.test(text)) return text;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new Error('DENY_LIST must be a path, or a URL without credentials and without a fragment');
  }
  if (production && url.protocol !== 'https:') throw new Error('DENY_LIST: the URL must be https in production');
  return url;
}

/** Returns the terms that buyers of tickets must accept; null when none are configured. @throws when only one of the two settings is set */
export function parseTerms(version: string | undefined, url: string | undefined) {
  if ((version === undefined) !== (url === undefined)) throw new Error('TERMS_VERSION and TERMS_URL must be set together');
  return version === undefined || url === undefined ? null : { version, url };
}

/** Parses an entry of `ORGANISERS`. */
export function parseOrganiser(text: string): string {
  const parsed = Wallet.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new Error(`ORGANISERS: ${text} is not a wallet address (base58 of 32 bytes)`);
}

/**
 * Parses an entry of `ALLOWED_ORIGINS` to an origin in the form that browsers send. Rejects a URL with an opaque origin (such as `file:///`):
 * browsers send every opaque origin as `null`, so this entry would allow all opaque origins.
 */
export function parseOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (origin === 'null') throw new Error(`ALLOWED_ORIGINS: ${text} is not an http or https origin`);
  return origin;
}
