import { z } from 'zod';
import { parseEach, parseOr, type ReportProblem } from './lib/settings/problems.ts';
import {
  parseConsumerSecret,
  parseDenyListSource,
  parseFrontendUrl,
  parseMediaUrl,
  parseOrganiser,
  parseOrigin,
  parseSeed,
  parseStandardSecret,
  parseTerms,
} from './lib/settings/values.ts';
import { AuthEnvironment, authConfig } from './platform/auth/config.ts';
import { TracingEnvironment, tracingConfig } from './platform/observability/tracing/config.ts';
import { QuotaEnvironment, quotaConfig } from './platform/quotas/config.ts';
import { RedisEnvironment } from './platform/redis/config.ts';
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
/** An IP address or a host name, on which a server listens. */
const host = z
  .string()
  .regex(/^[\w.:-]+$/, 'must be an IP address or a host name')
  .default('127.0.0.1');
const port = z.coerce.number().int().min(0).max(65_535);

export { type AdminToken, SCOPES, type Scope } from './platform/auth/config.ts';

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

const postgresUrl = z
  .string()
  .regex(/^postgres(?:ql)?:\/\/\S+$/, 'must be a URL that begins with postgresql://')
  // Without a name, the driver would connect to this machine.
  .refine((url) => !/^[^/]*\/\/(?:[^/?]*@)?(?:,|[^/?]*,(?:[,:/?]|$))/.test(url), 'must name a host before and after each comma');

/** The settings, in the order of the problems that `inspectConfig` returns. */
const Variables = z.object({
  /** The rules for production, such as https, apply only to `production`. `audit` is for `bin/audit`, which needs no secrets. */
  NODE_ENV: z.enum(['development', 'test', 'production', 'audit']).default('development'),
  HOST: host,
  PORT: port.default(3000),
  /** Port of the health server (health checks and metrics) of each process; 0 = any free port. */
  METRICS_PORT: port.default(0),
  METRICS_HOST: host,
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** URL of the front end, to which links for people lead. Without it, they lead to pages of this service. */
  FRONTEND_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Whether this service serves the arcade page. Default: on, and off with `FRONTEND_URL`, because links for people then lead to another page. */
  WEB: z.enum(['on', 'off']).optional(),
  /** Origin from which clients load media files, such as `https://media.arcade.example`; it must lead to the same service. Without it, `PUBLIC_URL`. */
  MEDIA_URL: z.url({ protocol: /^https?$/ }).optional(),
  ALLOWED_ORIGINS: list(''),
  TRUST_PROXY: flag,
  DATABASE_URL: postgresUrl.default('postgresql://localhost/coinop'),
  /** URL of the role that owns the tables, for `src/migrate.ts` only. Without it, `DATABASE_URL`. */
  MIGRATION_DATABASE_URL: postgresUrl.optional(),
  /** Standbys of the database, for reads that may be seconds old. Without it, the primary answers all reads. */
  DATABASE_READ_URL: postgresUrl.optional(),
  /** Maximum age of the data that a standby returns, ms. A standby that is further behind is not read. */
  READ_MAX_LAG_MS: z.coerce.number().int().min(100).max(60_000).default(5_000),
  DATABASE_POOL: z.coerce.number().int().min(2).max(100).default(10),
  ...RedisEnvironment,
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
  /** Maximum scores per wallet in games without verification, which each API process accepts per minute and per day. */
  UNVERIFIED_SCORES_PER_MINUTE: z.coerce.number().int().min(1).max(1_000_000).default(60),
  UNVERIFIED_SCORES_PER_DAY: z.coerce.number().int().min(1).max(1_000_000_000).default(5_000),
  REPLAY_DAYS: z.coerce.number().int().min(1).max(3_650).default(90),
  /** Full months before the present one whose ledger and activities stay in the database; older months are exported and detached. 0 = all months. */
  HISTORY_MONTHS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_200)
    .refine((months) => months === 0 || months >= 13, 'must be 0 or a whole number from 13 to 1200, because the boards of a year need its points')
    .default(13),
  /** Maximum points that a wallet gets per day from the scores of the wallets that it referred. */
  REFERRAL_DAILY_CAP: z.coerce.number().int().min(0).max(1_000_000_000).default(5_000),
  /** Hours between the computation of an epoch and the earliest signing of its root. Default: 6 in production, else 0. */
  REVIEW_HOURS: z.coerce.number().int().min(0).max(168).optional(),
  /** Maximum chat messages in 10 s per wallet, or per author of a bridged chat. */
  CHAT_MESSAGES_PER_10_SEC: z.coerce.number().int().min(1).max(1_000_000).default(20),
  /** Maximum chat messages in 24 hours per wallet, or per author of a bridged chat. Entries of rounds do not count. */
  CHAT_MESSAGES_PER_DAY: z.coerce.number().int().min(1).max(1_000_000_000).default(5_000),
  /** Maximum chat messages per second of all authors together. Entries of rounds do not count. */
  CHAT_MESSAGES_PER_SEC: z.coerce.number().int().min(1).max(1_000_000).default(200),
  /** Seconds that an author waits between two chat messages until an operator chooses another time; 0 = no slow mode. */
  CHAT_SLOW_MODE_SEC: z.coerce.number().int().min(0).max(3_600).default(0),
  /** Days for which chat messages are kept; messages that made entries of rounds are kept for ever. 0 = all messages. */
  CHAT_DAYS: z.coerce.number().int().min(0).max(36_500).default(365),
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
  ...QuotaEnvironment,
  ...XEnvironment,
  ...TracingEnvironment,
});

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(Variables.shape);

/** The settings of a process. */
export type Config = ReturnType<typeof buildConfig>;

/**
 * Parses the environment variables. No other code reads environment variables. Every setting has a default that works on one machine.
 * @throws when a setting is wrong, or when production would run with a development secret, without a chain or without TLS. The message names all wrong
 * settings
 */
export function readConfig(env: Environment = process.env): Config {
  const { config, problems } = inspectConfig(env);
  if (problems.length === 0) return config;
  const [first, ...others] = problems;
  throw new Error(`configuration: ${others.length === 0 ? first : ['there are several problems', ...problems].join('\n  ')}`);
}

/**
 * Parses the environment variables and returns all problems, one sentence each. Each sentence names the setting, and none contains a secret.
 * @returns the configuration, in which wrong settings have their defaults
 */
export function inspectConfig(env: Environment): { readonly config: Config; readonly problems: readonly string[] } {
  const problems = new Set<string>();
  const report = (sentence: string) => void problems.add(sentence);
  const config = buildConfig(parseVariables(env, report), report);
  return { config, problems: [...problems] };
}

/** Parses each variable on its own. A variable that is not valid is reported and gets its default. */
function parseVariables(env: Environment, report: ReportProblem): z.output<typeof Variables> {
  const parsed = Variables.safeParse(env);
  if (parsed.success) return parsed.data;
  const wrong = new Set<string>();
  for (const { path, message } of parsed.error.issues) {
    const name = String(path[0]);
    wrong.add(name);
    report(`${name} ${message.startsWith('must ') ? message : `is not valid: ${message}`}`);
  }
  return Variables.parse(Object.fromEntries(Object.keys(Variables.shape).flatMap((name) => (wrong.has(name) ? [] : [[name, env[name]]]))));
}

/** Reports the settings with which production must not start. */
function checkProduction(e: z.output<typeof Variables>, report: ReportProblem): void {
  if (e.SESSION_KEYS.length === 0 || e.SESSION_KEYS.some((key) => key === DEVELOPMENT_SESSION_KEY || key.length < 32)) {
    report('SESSION_KEYS must be set in production, each of 32 characters or more');
  }
  if (e.RECEIPT_KEY === DEVELOPMENT_RECEIPT_KEY) report('RECEIPT_KEY must be set in production');
  if (!e.PUBLIC_URL) report('PUBLIC_URL must be set in production');
  else if (!e.PUBLIC_URL.startsWith('https:')) report('PUBLIC_URL must be https in production');
  if (e.CLOCK_OFFSET_SEC !== 0) report('CLOCK_OFFSET_SEC must be 0 or unset in production');
  for (const name of ['SOLANA_RPC_URL', 'DISTRIBUTOR_PROGRAM_ID', 'REWARD_MINT', 'USDC_MINT'] as const) {
    if (e[name] === undefined) report(`${name} must be set in production, because rewards and payments need the chain`);
  }
}

function buildConfig(e: z.output<typeof Variables>, report: ReportProblem) {
  const production = e.NODE_ENV === 'production';
  if (production) checkProduction(e, report);
  else if (e.SESSION_KEYS.length === 0) report('SESSION_KEYS must have at least one key');
  const standard = (name: 'WEBHOOK_SECRET_PAYMENT_STATUS' | 'WEBHOOK_SECRET_CHAT_BRIDGE') =>
    parseEach(report, e[name], (text) => parseStandardSecret(name, text));
  /** HMAC keys per webhook source, newest first. */
  const webhookKeys: Readonly<Record<WebhookSource, readonly Buffer[]>> = {
    'payment-status': standard('WEBHOOK_SECRET_PAYMENT_STATUS'),
    'chat-bridge': standard('WEBHOOK_SECRET_CHAT_BRIDGE'),
    x: parseEach(report, e.WEBHOOK_SECRET_X, parseConsumerSecret),
  };
  const publicUrl = new URL(e.PUBLIC_URL ?? `http://localhost:${e.PORT}`);
  const { FRONTEND_URL: frontendUrl, MEDIA_URL: mediaUrl, DENY_LIST: denyList } = e;
  return {
    production,
    host: e.HOST,
    port: e.PORT,
    metrics: { host: e.METRICS_HOST, port: e.METRICS_PORT },
    publicUrl,
    /** URL of the front end; null when links for people lead to pages of this service. */
    frontendUrl: frontendUrl === undefined ? null : parseOr(report, null, () => parseFrontendUrl(frontendUrl, production)),
    /** Whether this service serves the arcade page. */
    web: e.WEB === undefined ? e.FRONTEND_URL === undefined : e.WEB === 'on',
    /** Origin of media files; null when the service's own origin serves them. */
    mediaUrl: mediaUrl === undefined ? null : parseOr(report, null, () => parseMediaUrl(mediaUrl, publicUrl, production)),
    allowedOrigins: [publicUrl.origin, ...parseEach(report, e.ALLOWED_ORIGINS, parseOrigin)],
    trustProxy: e.TRUST_PROXY,
    database: {
      url: e.DATABASE_URL,
      migrationUrl: e.MIGRATION_DATABASE_URL ?? e.DATABASE_URL,
      /** URL of the standbys; null when the primary answers all reads. */
      readUrl: e.DATABASE_READ_URL ?? null,
      maxLagMs: e.READ_MAX_LAG_MS,
      pool: e.DATABASE_POOL,
    },
    redis: { target: e.REDIS_URL, prefix: e.REDIS_PREFIX },
    ...authConfig(e, report),
    webhookKeys,
    sessionKeys: e.SESSION_KEYS,
    /** Seed of the ed25519 key that signs receipts. */
    receiptSeed: parseOr(report, Buffer.from(DEVELOPMENT_RECEIPT_KEY, 'base64'), () => parseSeed('RECEIPT_KEY', e.RECEIPT_KEY)),
    signIn: { chain: e.SIGN_IN_CHAIN, statement: e.SIGN_IN_STATEMENT },
    clockOffsetMs: e.CLOCK_OFFSET_SEC * 1_000,
    logLevel: e.LOG_LEVEL,
    dailyPointsCap: e.DAILY_POINTS_CAP,
    unverifiedScores: { perMinute: e.UNVERIFIED_SCORES_PER_MINUTE, perDay: e.UNVERIFIED_SCORES_PER_DAY },
    replayDays: e.REPLAY_DAYS,
    historyMonths: e.HISTORY_MONTHS,
    referralDailyCap: e.REFERRAL_DAILY_CAP,
    reviewHours: e.REVIEW_HOURS ?? (production ? 6 : 0),
    chat: {
      messagesPer10Sec: e.CHAT_MESSAGES_PER_10_SEC,
      messagesPerDay: e.CHAT_MESSAGES_PER_DAY,
      messagesPerSec: e.CHAT_MESSAGES_PER_SEC,
      slowModeSec: e.CHAT_SLOW_MODE_SEC,
      days: e.CHAT_DAYS,
    },
    legacyRounds: {
      allowed: e.LEGACY_ROUNDS,
      unfinished: e.LEGACY_ROUNDS_UNFINISHED,
      perWallet: e.LEGACY_ROUNDS_PER_WALLET,
      perDay: e.LEGACY_ROUNDS_PER_DAY,
    },
    /** Rules for wallets that buy tickets or enter rounds with prizes in stablecoin. */
    restrictions: {
      denyList: denyList === undefined ? null : parseOr(report, null, () => parseDenyListSource(denyList, production)),
      terms: parseOr(report, null, () => parseTerms(e.TERMS_VERSION, e.TERMS_URL)),
    },
    queues: e.QUEUES,
    /** Wallets that may activate burn events; null = every wallet (in development, when `ORGANISERS` is empty). */
    organisers: production || e.ORGANISERS.length > 0 ? new Set(parseEach(report, e.ORGANISERS, parseOrganiser)) : null,
    chain: chainConfig(e, production, report),
    storage: storageConfig(e, production, report),
    /** Maximum bytes of stored content. */
    quotas: quotaConfig(e),
    x: xConfig(e, production, report),
    tracing: tracingConfig(e),
  };
}
