import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Config } from '#config';
import type { App } from '#platform/app.ts';
import { SessionsTable } from '#platform/db/entities.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A session. Times are in ms since 1970. */
export interface SessionRecord {
  readonly wallet: string;
  readonly createdAt: number;
  readonly extendedAt: number;
  readonly expiresAt: number;
}

/** Minimum interval between two extensions of a session, ms. */
const EXTENSION_INTERVAL_MS = 60_000;
/** Lifetime of an unused session, ms. The SQL statements below contain the same value, 168 hours. */
const IDLE_LIFETIME_MS = 7 * 86_400_000;
/** Maximum lifetime of a session, ms. The SQL statement `extend_session` contains the same value, 720 hours. */
const MAX_LIFETIME_MS = 30 * 86_400_000;
/** Maximum age of a cached session, ms. */
const CACHE_TTL_MS = 10 * 60_000;
/** Lifetime of a cache entry that says that no session exists for a key, ms. */
const ABSENT_TTL_MS = 60_000;
/**
 * Lifetime of the mark `ENDED` in the cache, ms. It is longer than the time between reading a session's row and caching the session, so that a slow
 * reader cannot cache an ended session.
 */
const ENDED_TTL_MS = 15 * 60_000;

/** Mark in the cache for an ended session. While the mark exists, no process caches the session again. */
const ENDED = 'gone';
/** Mark in the cache for a session that is being ended. The session's row may still exist in PostgreSQL, so the next reader deletes the row. */
const ENDING = 'ending';

const milliseconds = (at: string) => `(extract(epoch from ${at}) * 1000)::float8`;
const COLUMNS = `wallet, ${milliseconds('created_at')} as "createdAt", ${milliseconds('extended_at')} as "extendedAt", ${milliseconds('expires_at')} as "expiresAt"`;
const CLOCK = `clock as materialized (select date_trunc('milliseconds', app_now()) as now)`;

const insertSession = statement<SessionRecord>(
  'insert_session',
  `with ${CLOCK}
   insert into sessions (key, wallet, created_at, extended_at, expires_at)
   select $1, $2, now, now, now + interval '168 hours' from clock returning ${COLUMNS}`,
);
const findSession = statement<SessionRecord>('find_session', `select ${COLUMNS} from sessions where key = $1 and expires_at > app_now()`);
// Only one of several concurrent requests extends the session. The other requests read the extended row.
const extendSession = statement<SessionRecord>(
  'extend_session',
  `with ${CLOCK}
   update sessions set extended_at = now, expires_at = least(now + interval '168 hours', created_at + interval '720 hours') from clock
   where key = $1 and extended_at <= now - interval '60 seconds' and expires_at > now returning ${COLUMNS}`,
);

const build = queryBuilder([SessionsTable]);

/**
 * Redis script: caches a session, unless the cache holds a mark that the session has ended or is being ended. KEYS: the cache key of the session.
 * ARGV: the encoded session, the lifetime of the cache entry in ms. Returns 1 when the script cached the session, otherwise 0.
 */
const CACHE_UNLESS_ENDED = `local cached = redis.call('GET', KEYS[1])
if cached == '${ENDED}' or cached == '${ENDING}' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const encode = (s: SessionRecord) => `${s.wallet} ${s.createdAt} ${s.extendedAt} ${s.expiresAt}`;

function decode(text: string): SessionRecord {
  const [wallet = '', createdAt, extendedAt, expiresAt] = text.split(' ');
  return { wallet, createdAt: Number(createdAt), extendedAt: Number(extendedAt), expiresAt: Number(expiresAt) };
}

/**
 * First characters of the ids of restricted sessions. The id says it, and not the row, so that every process knows it without a read. The key of a
 * restricted session has another form, so that a process of an earlier release, which knows no restriction, finds no session.
 */
const RESTRICTED = 'restricted.';

/** Returns whether a session is restricted: the session of a banned wallet, which may use only the routes that are marked `forBanned`. */
export const isRestricted = (id: string): boolean => id.startsWith(RESTRICTED);

/** Returns the key of a session: the hash of its id, base64url. PostgreSQL and Redis hold only the hash, so a leaked copy cannot be used to sign in. */
export const sessionKeyOf = (id: string): string => hash('sha256', isRestricted(id) ? `restricted ${id}` : id, 'base64url');
const bytesOf = (key: string): Buffer => Buffer.from(key, 'base64url');

/** Returns the Redis channel on which the keys of ended sessions are published, separated by spaces, so that every process ends their connections. */
export const endedSessionsChannel = (config: Config): string => `${config.redis.prefix}:sessions:ended`;

/**
 * Returns whether to extend a session: its last extension is at least `EXTENSION_INTERVAL_MS` ago, and a new extension would make the session expire
 * later.
 */
export function isExtensionDue(session: SessionRecord, now: number): boolean {
  return (
    now - session.extendedAt >= EXTENSION_INTERVAL_MS && Math.min(now + IDLE_LIFETIME_MS, session.createdAt + MAX_LIFETIME_MS) > session.expiresAt
  );
}

/** A session as its wallet sees it. */
interface ListedSession {
  /** Key of the session, hex. */
  readonly id: string;
  readonly createdAt: string;
  readonly lastExtendedAt: string;
  readonly expiresAt: string;
}

/** Returns the key of a session in hex, which its wallet sees as the id of the session. */
export const listedIdOf = (id: string): string => bytesOf(sessionKeyOf(id)).toString('hex');

/** Reads a page of the valid sessions of a wallet, newest first, and the number of all of them. */
export async function listSessions(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ sessions: ListedSession[]; total: number }> {
  const valid = build.selectFrom('sessions').where('wallet', '=', wallet).where('expires_at', '>', sql<string>`app_now()`);
  const page = valid
    .select([
      sql<string>`encode(key, 'hex')`.as('id'),
      isoInstant('created_at').as('createdAt'),
      isoInstant('extended_at').as('lastExtendedAt'),
      isoInstant('expires_at').as('expiresAt'),
    ])
    .orderBy('created_at', 'desc')
    .orderBy('key')
    .limit(limit)
    .offset(offset);
  const [sessions, [count]] = await Promise.all([run(db, page), run(db, valid.select(sql<number>`count(*)::int`.as('n')))]);
  return { sessions, total: count?.n ?? 0 };
}

/**
 * Creates a session for a wallet. The returned id is secret: only the session cookie may contain it.
 * @param banned whether the wallet is banned; its session is then restricted until it ends
 */
export async function createSession(tx: Tx, wallet: string, { banned }: { banned: boolean }): Promise<{ id: string; session: SessionRecord }> {
  const id = `${banned ? RESTRICTED : ''}${randomBytes(32).toString('base64url')}`;
  const [session] = await tx.query(insertSession, [bytesOf(sessionKeyOf(id)), wallet]);
  if (!session) throw new Error('the insert of a session returned no row');
  return { id, session };
}

/**
 * Stores sessions in PostgreSQL and caches them in Redis under one key per session. The value of the key is the session, or a mark that the session
 * has ended. When the key does not exist, the row in PostgreSQL decides. To end a session, the store sets the mark before it deletes the row, so that
 * a concurrent read or extension cannot cache the session again.
 */
export class SessionStore {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  /**
   * Returns the session with an id, or null. Costs one Redis GET when the session is cached.
   * @throws when the session is being ended and its row cannot be deleted
   */
  async find(id: string): Promise<SessionRecord | null> {
    const key = sessionKeyOf(id);
    const cached = await this.#app.redis.get(this.#cacheKey(key));
    if (cached === ENDED) return null;
    if (cached === ENDING) {
      // Deletes the row before it returns null, because Redis may lose the mark, and then the row would make the session valid again.
      await this.#finish([key]);
      return null;
    }
    const session = cached === null ? await this.#load(key) : decode(cached);
    return session && session.expiresAt > this.#now() ? session : null;
  }

  /**
   * Extends a session whose last extension is at least 60 s old.
   * @returns the session, and whether this call extended it; null when the session has ended
   */
  async extend(id: string): Promise<{ session: SessionRecord; extended: boolean } | null> {
    const key = sessionKeyOf(id);
    const [extended] = await this.#app.tx((tx) => tx.query(extendSession, [bytesOf(key)]));
    const session = extended ?? (await this.#app.db.query(findSession, [bytesOf(key)]))[0];
    if (!session) return null;
    this.#ignoreFailure(this.#app.redis.eval(CACHE_UNLESS_ENDED, 1, this.#cacheKey(key), encode(session), this.#ttl(session)));
    return { session, extended: extended !== undefined };
  }

  /** Ends a session for all processes. */
  async end(id: string): Promise<void> {
    await this.#end([sessionKeyOf(id)]);
  }

  /** Ends all sessions of a wallet. */
  async endAll(wallet: string): Promise<void> {
    for (;;) {
      const rows = await run(this.#app.db, build.selectFrom('sessions').select('key').where('wallet', '=', wallet).limit(500));
      if (rows.length === 0) return;
      await this.#end(rows.map(({ key }) => key.toString('base64url')));
    }
  }

  /**
   * Ends a session of a wallet.
   * @param listed id of the session in `listSessions`
   * @returns false when the wallet has no such session
   */
  async endListed(wallet: string, listed: string): Promise<boolean> {
    const key = Buffer.from(listed, 'hex');
    const found = build.selectFrom('sessions').select('key').where('key', '=', key).where('wallet', '=', wallet);
    if ((await run(this.#app.db, found)).length === 0) return false;
    await this.#end([key.toString('base64url')]);
    return true;
  }

  async #load(key: string): Promise<SessionRecord | null> {
    const [session = null] = await this.#app.db.query(findSession, [bytesOf(key)]);
    const cached = session ? encode(session) : ENDED;
    this.#ignoreFailure(this.#app.redis.set(this.#cacheKey(key), cached, 'PX', session ? this.#ttl(session) : ABSENT_TTL_MS, 'NX'));
    return session;
  }

  /**
   * Sets the mark `ENDING`, then deletes the rows. When the process is killed before it deletes the rows, the mark keeps the sessions invalid for the
   * maximum lifetime of a session.
   */
  async #end(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#app.redis.set(this.#cacheKey(key), ENDING, 'PX', MAX_LIFETIME_MS)));
    await this.#finish(keys);
  }

  /** Tells every process that sessions have ended, and deletes their rows. Precondition: the cache has a mark for each session. */
  async #finish(keys: readonly string[]): Promise<void> {
    const { redis, config, log } = this.#app;
    redis
      .publish(endedSessionsChannel(config), keys.join(' '))
      .catch((err: unknown) =>
        log.debug({ err }, 'the end of sessions could not be published; processes find it at their next check of open connections'),
      );
    await this.#app.tx((tx) => run(tx, build.deleteFrom('sessions').where('key', 'in', keys.map(bytesOf))));
    for (const key of keys) this.#ignoreFailure(this.#app.redis.set(this.#cacheKey(key), ENDED, 'PX', ENDED_TTL_MS));
  }

  #now(): number {
    return this.#app.clock.now().getTime();
  }

  #cacheKey(key: string): string {
    return `${this.#app.config.redis.prefix}:session:${key}`;
  }

  #ttl(session: SessionRecord): number {
    return Math.max(1, Math.min(CACHE_TTL_MS, Math.floor(session.expiresAt - this.#now())));
  }

  /** Logs a failed cache update instead of throwing, because the row in PostgreSQL is correct without the cache entry. */
  #ignoreFailure(cached: Promise<unknown>): void {
    cached.catch((error: unknown) => this.#app.log.debug({ err: error }, 'a session could not be cached; it is read from PostgreSQL'));
  }
}
