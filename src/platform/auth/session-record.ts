import { hash, randomBytes } from 'node:crypto';

/** How a client sends the id of a session: in the session cookie, or as a Bearer token for pages of other sites, where browsers block cookies. */
export const TRANSPORTS = ['cookie', 'bearer'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** A session. Times are in ms since 1970. */
export interface SessionRecord {
  readonly wallet: string;
  readonly createdAt: number;
  readonly extendedAt: number;
  readonly expiresAt: number;
  readonly transport: Transport;
  /** The only origin whose requests may use the session; null when requests of any allowed origin may. */
  readonly origin: string | null;
}

/** First characters of the id of every session with the transport `bearer`. No configured token may begin with them. */
export const SESSION_TOKEN_PREFIX = 'sess_';

/**
 * First characters of the ids of restricted sessions, after the prefix of session tokens. The id says it, and not the row, so that every process knows it
 * without a read. The key of a restricted session has another form, so that a process of an earlier release, which knows no restriction, finds no session.
 */
const RESTRICTED = 'restricted.';

/** Minimum interval between two extensions of a session, ms. A request with an extension costs twice as much as a request without one. */
export const EXTENSION_INTERVAL_MS = 3_600_000;

/** Creates the secret id of a new session. @param restricted whether the session is one of a banned wallet */
export const newSessionId = (transport: Transport, restricted: boolean): string =>
  `${transport === 'bearer' ? SESSION_TOKEN_PREFIX : ''}${restricted ? RESTRICTED : ''}${randomBytes(32).toString('base64url')}`;

/** Returns whether a session is restricted: the session of a banned wallet, which may use only the routes that are marked `forBanned`. */
export const isRestricted = (id: string): boolean => id.startsWith(RESTRICTED) || id.startsWith(`${SESSION_TOKEN_PREFIX}${RESTRICTED}`);

/** Returns the key of a session: the hash of its id, base64url. PostgreSQL and Redis hold only the hash, so a leaked copy cannot be used to sign in. */
export const sessionKeyOf = (id: string): string => hash('sha256', isRestricted(id) ? `restricted ${id}` : id, 'base64url');

/** Returns the bytes of a key. */
export const bytesOfKey = (key: string): Buffer => Buffer.from(key, 'base64url');

/** Returns whether the last recorded use of a session is so old that the current use is recorded, which may also extend the session. */
export const isExtensionDue = (session: SessionRecord, now: number): boolean => now - session.extendedAt >= EXTENSION_INTERVAL_MS;

/** Returns the text of a session in the cache. */
export const encodeSession = (s: SessionRecord): string =>
  `${s.wallet} ${s.createdAt} ${s.extendedAt} ${s.expiresAt} ${s.transport}${s.origin === null ? '' : ` ${s.origin}`}`;

/** Parses the result of `encodeSession`. */
export function decodeSession(text: string): SessionRecord {
  const [wallet = '', createdAt, extendedAt, expiresAt, transport, origin = null] = text.split(' ');
  return {
    ...{ wallet, createdAt: Number(createdAt), extendedAt: Number(extendedAt), expiresAt: Number(expiresAt) },
    ...{ transport: transport === 'bearer' ? 'bearer' : 'cookie', origin },
  };
}
