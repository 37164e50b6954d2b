import { z } from 'zod';
import { Wallet } from './lib/scalars.ts';
import { AuthEnvironment, authConfig } from './platform/auth/config.ts';
import { TracingEnvironment, tracingConfig } from './platform/observability/tracing/config.ts';
import { ChainEnvironment, chainConfig } from './platform/solana/config.ts';
import { StorageEnvironment, storageConfig } from './platform/storage/config.ts';
import type { WebhookSource } from './platform/webhooks/config.ts';
import { XEnvironment, xConfig } from './platform/x/config.ts';

const DEVELOPMENT_SESSION_KEY = 'development-session-key-not-secret';
const DEVELOPMENT_RECEIPT_KEY = Buffer.from('development-receipt-key-32-bytes').toString('base64');

const list = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    );
const flag = z
  .enum(['0', '1', 'false', 'true', ''])
  .default('')
  .transform((text) => text === '1' || text === 'true');
const port = z.coerce.number().int().min(0).max(65_535);

export { type AdminToken, SCOPES, type Scope } from './platform/auth/config.ts';

/** Returns the HMAC key in a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Errors do not contain the secret. */
function parseStandardSecret(variable: string, text: string): Buffer {
  const encoded = text.startsWith('whsec_') ? text.slice('whsec_'.length) : '';
  const key = Buffer.from(encoded, 'base64');
  if (key.toString('base64') === encoded && key.length >= 24 && key.length <= 64) return key;
  throw new Error(`${variable}: each secret must start with whsec_, followed by the base64 of 24 to 64 bytes`);
}

/** Parses the seed of an ed25519 key: base64 of 32 bytes. Errors do not contain the secret. */
function parseSeed(variable: string, text: string): Buffer {
  const seed = Buffer.from(text, 'base64');
  if (seed.length === 32 && seed.toString('base64') === text) return seed;
  throw new Error(`${variable}: must be the base64 of 32 bytes`);
}

/** Returns the HMAC key for webhooks of X: the bytes of X's consumer secret, unchanged. */
function parseConsumerSecret(text: string): Buffer {
  if (/^[\x21-\x7e]{16,256}$/.test(text)) return Buffer.from(text);
  throw new Error('WEBHOOK_SECRET_X: each secret must be 16 to 256 printable characters');
}

/**
 * Parses the URL of the front end. The paths of its pages are appended to it.
 * @throws when it has a query, a fragment or credentials, or is not https in production
 */
function parseFrontendUrl(text: string, production: boolean): URL {
  const url = new URL(text);
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '' || /[?#]$/.test(text)) {
    throw new Error('configuration: FRONTEND_URL must not have a query, a fragment or credentials');
  }
  if (production && url.protocol !== 'https:') throw new Error('configuration: FRONTEND_URL must be https in production');
  return url;
}

/**
 * Parses the origin of media files.
 * @throws when it is more than an origin, is the origin of the service, or is not https in production
 */
function parseMediaUrl(text: string, publicUrl: URL, production: boolean): URL {
  const url = new URL(text);
  if (url.href !== `${url.origin}/` || /[?#]$/.test(text)) throw new Error('configuration: MEDIA_URL must be an origin, without a path');
  if (url.host === publicUrl.host) throw new Error('configuration: MEDIA_URL must have another host than PUBLIC_URL');
  if (production && url.protocol !== 'https:') throw new Error('configuration: MEDIA_URL must be https in production');
  return url;
}

/**
 * Parses the source of the deny list: the path of a file, or a URL.
 * @throws when the URL has credentials or a fragment, or is not https in production. Errors do not contain the URL, because its query may contain a key
 */
function parseDenyListSource(text: string, production: boolean): string | URL {
  if (!/^https?:/i.test(text)) return text;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new Error('configuration: DENY_LIST must be a path, or a URL without credentials and without a fragment');
  }
  if (production && url.protocol !== 'https:') throw new Error('configuration: the URL in DENY_LIST must be https in production');
  return url;
}

/** Returns the terms that buyers of tickets must accept; null when none are configured. @throws when only one of the two settings is set */
function parseTerms(version: string | undefined, url: string | undefined) {
  if ((version === undefined) !== (url === undefined)) throw new Error('configuration: TERMS_VERSION and TERMS_URL must be set together');
  return version === undefined || url === undefined ? null : { version, url };
}

/**
 * Parses an entry of `ALLOWED_ORIGINS` to an origin in the form that browsers send. Rejects a URL with an opaque origin (such as `file:///`):
 * browsers send every opaque origin as `null`, so this entry would allow all opaque origins.
 */
function parseOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (origin === 'null') throw new Error(`ALLOWED_ORIGINS: ${text} is not an http or https origin`);
  return origin;
}

const Environment = z.object({
  NODE_ENV: z.string().default('development'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  /** Port of the health server (health checks and metrics) of each process; 0 = any free port. */
  METRICS_PORT: port.default(0),
  METRICS_HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: z.url().optional(),
  /** URL of the front end, to which links for people lead. Without it, they lead to pages of this service. */
  FRONTEND_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Origin from which clients load media files, such as `https://media.arcade.example`; it must lead to the same service. Without it, `PUBLIC_URL`. */
  MEDIA_URL: z.url({ protocol: /^https?$/ }).optional(),
  ALLOWED_ORIGINS: list(''),
  TRUST_PROXY: flag,
  DATABASE_URL: z.string().min(1).default('postgresql://localhost/coinop'),
  DATABASE_POOL: z.coerce.number().int().min(2).max(100).default(10),
  REDIS_URL: z.string().min(1).default('redis://localhost:6379'),
  REDIS_PREFIX: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .default('coinop'),
  ADMIN_TOKENS: list(''),
  INTERNAL_TOKENS: list(''),
  /**
   * Secrets of one webhook source per variable, newest first. A delivery may be signed with any listed secret. When the list is empty, all deliveries
   * of the source are rejected.
   */
  WEBHOOK_SECRET_PAYMENT_STATUS: list(''),
  WEBHOOK_SECRET_CHAT_BRIDGE: list(''),
  WEBHOOK_SECRET_X: list(''),
  /** Keys that sign session cookies, newest first. A cookie that was signed with an older key is accepted and signed again with the newest key. */
  SESSION_KEYS: list(DEVELOPMENT_SESSION_KEY),
  /** Seed of the key that signs entry receipts: the base64 of 32 bytes. */
  RECEIPT_KEY: z.string().min(1).default(DEVELOPMENT_RECEIPT_KEY),
  SIGN_IN_CHAIN: z.enum(['mainnet', 'testnet', 'devnet', 'localnet']).default('mainnet'),
  SIGN_IN_STATEMENT: z
    .string()
    .regex(/^[\x20-\x7e]+$/)
    .default('Sign in to Coinop.'),
  /**
   * Seconds that are added to the system clock to get the service's clock. For development only. `migrate` applies this offset to the database clock.
   */
  CLOCK_OFFSET_SEC: z.coerce.number().int().min(-3_155_760_000).max(3_155_760_000).default(0),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /** Maximum points per wallet and day over all games. */
  DAILY_POINTS_CAP: z.coerce.number().int().min(0).max(1_000_000_000).default(50_000),
  REPLAY_DAYS: z.coerce.number().int().min(1).max(3_650).default(90),
  /** Maximum points that a wallet gets per day from the scores of the wallets that it referred. */
  REFERRAL_DAILY_CAP: z.coerce.number().int().min(0).max(1_000_000_000).default(5_000),
  /** Hours between the computation of an epoch and the earliest signing of its root. Default: 6 in production, else 0. */
  REVIEW_HOURS: z.coerce.number().int().min(0).max(168).optional(),
  /** Maximum chat messages in 10 s per wallet, or per author of a bridged chat. */
  CHAT_MESSAGES_PER_10_SEC: z.coerce.number().int().min(1).max(1_000_000).default(20),
  /** Maximum chat messages per second of all authors together. Entries of rounds do not count. */
  CHAT_MESSAGES_PER_SEC: z.coerce.number().int().min(1).max(1_000_000).default(200),
  /** Seconds that an author waits between two chat messages until an operator chooses another time; 0 = no slow mode. */
  CHAT_SLOW_MODE_SEC: z.coerce.number().int().min(0).max(3_600).default(0),
  /** Legacy rounds that wallets may open: none, rounds with a ticket price, or all. */
  LEGACY_ROUNDS: z.enum(['off', 'paid', 'all']).default('all'),
  /** Maximum legacy rounds of a wallet that are not drawn yet. */
  LEGACY_ROUNDS_UNFINISHED: z.coerce.number().int().min(1).max(100_000).default(3),
  /** Maximum legacy rounds that a wallet, and all wallets together, may open per UTC day. Each round costs the rent of its commitment. */
  LEGACY_ROUNDS_PER_WALLET: z.coerce.number().int().min(1).max(100_000).default(10),
  LEGACY_ROUNDS_PER_DAY: z.coerce.number().int().min(1).max(1_000_000).default(1_000),
  /** List of wallets that may not buy tickets: the path of a file, or an http or https URL. Without it, no wallet is denied. */
  DENY_LIST: z.string().min(1).optional(),
  /** Version of the terms that a wallet must accept before it buys a ticket, and the page with their text. Without them, no terms apply. */
  TERMS_VERSION: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, hyphens and underscores')
    .optional(),
  TERMS_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Queues that this worker serves; empty = all. */
  QUEUES: list(''),
  /** Wallets that may activate the burn events that they created. When the list is empty: every wallet in development, no wallet in production. */
  ORGANISERS: list(''),
  ...AuthEnvironment,
  ...ChainEnvironment,
  ...StorageEnvironment,
  ...XEnvironment,
  ...TracingEnvironment,
});

/** The settings of a process. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Parses the environment variables. No other code reads environment variables. Every setting has a default that works on one machine.
 * @throws when a value is malformed, or when production would run with a development secret
 */
export function readConfig(env: Record<string, string | undefined> = process.env) {
  const parsed = Environment.safeParse(env);
  if (!parsed.success) throw new Error(`configuration: ${z.prettifyError(parsed.error)}`);
  const e = parsed.data;
  const production = e.NODE_ENV === 'production';
  if (production && e.SESSION_KEYS.some((key) => key === DEVELOPMENT_SESSION_KEY || key.length < 32)) {
    throw new Error('configuration: SESSION_KEYS must be set in production, each of 32 characters or more');
  }
  if (production && e.RECEIPT_KEY === DEVELOPMENT_RECEIPT_KEY) throw new Error('configuration: RECEIPT_KEY must be set in production');
  if (production && !e.PUBLIC_URL) throw new Error('configuration: PUBLIC_URL must be set in production');
  if (production && e.CLOCK_OFFSET_SEC !== 0) throw new Error('configuration: CLOCK_OFFSET_SEC must be 0 or unset in production');
  /** HMAC keys per webhook source, newest first. */
  const webhookKeys: Readonly<Record<WebhookSource, readonly Buffer[]>> = {
    'payment-status': e.WEBHOOK_SECRET_PAYMENT_STATUS.map((text) => parseStandardSecret('WEBHOOK_SECRET_PAYMENT_STATUS', text)),
    'chat-bridge': e.WEBHOOK_SECRET_CHAT_BRIDGE.map((text) => parseStandardSecret('WEBHOOK_SECRET_CHAT_BRIDGE', text)),
    x: e.WEBHOOK_SECRET_X.map(parseConsumerSecret),
  };
  const publicUrl = new URL(e.PUBLIC_URL ?? `http://localhost:${e.PORT}`);
  return {
    production,
    host: e.HOST,
    port: e.PORT,
    metrics: { host: e.METRICS_HOST, port: e.METRICS_PORT },
    publicUrl,
    /** URL of the front end; null when links for people lead to pages of this service. */
    frontendUrl: e.FRONTEND_URL === undefined ? null : parseFrontendUrl(e.FRONTEND_URL, production),
    /** Origin of media files; null when the service's own origin serves them. */
    mediaUrl: e.MEDIA_URL === undefined ? null : parseMediaUrl(e.MEDIA_URL, publicUrl, production),
    allowedOrigins: [publicUrl.origin, ...e.ALLOWED_ORIGINS.map(parseOrigin)],
    trustProxy: e.TRUST_PROXY,
    database: { url: e.DATABASE_URL, pool: e.DATABASE_POOL },
    redis: { url: e.REDIS_URL, prefix: e.REDIS_PREFIX },
    ...authConfig(e),
    webhookKeys,
    sessionKeys: e.SESSION_KEYS,
    /** Seed of the ed25519 key that signs receipts. */
    receiptSeed: parseSeed('RECEIPT_KEY', e.RECEIPT_KEY),
    signIn: { chain: e.SIGN_IN_CHAIN, statement: e.SIGN_IN_STATEMENT },
    clockOffsetMs: e.CLOCK_OFFSET_SEC * 1_000,
    logLevel: e.LOG_LEVEL,
    dailyPointsCap: e.DAILY_POINTS_CAP,
    replayDays: e.REPLAY_DAYS,
    referralDailyCap: e.REFERRAL_DAILY_CAP,
    reviewHours: e.REVIEW_HOURS ?? (production ? 6 : 0),
    chat: {
      messagesPer10Sec: e.CHAT_MESSAGES_PER_10_SEC,
      messagesPerSec: e.CHAT_MESSAGES_PER_SEC,
      slowModeSec: e.CHAT_SLOW_MODE_SEC,
    },
    legacyRounds: {
      allowed: e.LEGACY_ROUNDS,
      unfinished: e.LEGACY_ROUNDS_UNFINISHED,
      perWallet: e.LEGACY_ROUNDS_PER_WALLET,
      perDay: e.LEGACY_ROUNDS_PER_DAY,
    },
    /** Rules for wallets that buy tickets or enter rounds with prizes in stablecoin. */
    restrictions: {
      denyList: e.DENY_LIST === undefined ? null : parseDenyListSource(e.DENY_LIST, production),
      terms: parseTerms(e.TERMS_VERSION, e.TERMS_URL),
    },
    queues: e.QUEUES,
    /** Wallets that may activate burn events; null = every wallet (in development, when `ORGANISERS` is empty). */
    organisers: production || e.ORGANISERS.length > 0 ? new Set(e.ORGANISERS.map((wallet) => Wallet.parse(wallet))) : null,
    chain: chainConfig(e, production),
    storage: storageConfig(e, production),
    x: xConfig(e, production),
    tracing: tracingConfig(e),
  };
}
