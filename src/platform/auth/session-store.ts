import { sql } from 'kysely';
import type { Config } from '#config';
import type { App } from '#platform/app.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { SessionsTable } from './entities.ts';
import { bytesOfKey, decodeSession, encodeSession, newSessionId, type SessionRecord, sessionKeyOf, type Transport } from './session-record.ts';

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
const COLUMNS = `wallet, ${milliseconds('created_at')} as "createdAt", ${milliseconds('extended_at')} as "extendedAt", ${milliseconds('expires_at')} as "expiresAt", transport, origin`;
const CLOCK = `clock as materialized (select date_trunc('milliseconds', app_now()) as now)`;

const insertSession = statement<SessionRecord>(
  'insert_session',
  `with ${CLOCK}
   insert into sessions (key, wallet, created_at, extended_at, expires_at, transport, origin)
   select $1, $2, now, now, now + case $3 when 'bearer' then interval '24 hours' else interval '168 hours' end, $3, $4 from clock returning ${COLUMNS}`,
);
const findSession = statement<SessionRecord>('find_session', `select ${COLUMNS} from sessions where key = $1 and expires_at > app_now()`);
// Only one of several concurrent requests extends the session. The other requests read the extended row. A session with the transport bearer ends 24 hours
// after its start: only its last use is recorded.
const extendSession = statement<SessionRecord>(
  'extend_session',
  `with ${CLOCK}
   update sessions set extended_at = now, expires_at = case transport
     when 'bearer' then expires_at else least(now + interval '168 hours', created_at + interval '720 hours') end from clock
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

/** Returns the Redis channel on which the keys of ended sessions are published, separated by spaces, so that every process ends their connections. */
export const endedSessionsChannel = (config: Config): string => `${config.redis.prefix}:sessions:ended`;

/** A session as its wallet sees it. */
interface ListedSession {
  /** Key of the session, hex. */
  readonly id: string;
  readonly createdAt: string;
  readonly lastExtendedAt: string;
  readonly expiresAt: string;
  readonly transport: Transport;
  readonly origin: string | null;
}

/** Returns the id of a session that its wallet sees: its key, in hex. */
export const listedIdOf = (key: string): string => bytesOfKey(key).toString('hex');

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
      'transport',
      'origin',
    ])
    .orderBy('created_at', 'desc')
    .orderBy('key')
    .limit(limit)
    .offset(offset);
  const [sessions, [count]] = await Promise.all([run(db, page), run(db, valid.select(sql<number>`count(*)::int`.as('n')))]);
  return { sessions, total: count?.n ?? 0 };
}

/**
 * Creates a session for a wallet. The returned id is secret: only the session cookie or the response with the token may contain it.
 * @param kind.origin the only origin that may use the session; null for any
 * @param kind.banned whether the wallet is banned; its session is then restricted until it ends
 */
export async function createSession(
  tx: Tx,
  wallet: string,
  { transport, origin, banned }: { transport: Transport; origin: string | null; banned: boolean },
): Promise<{ id: string; session: SessionRecord }> {
  const id = newSessionId(transport, banned);
  const [session] = await tx.query(insertSession, [bytesOfKey(sessionKeyOf(id)), wallet, transport, origin]);
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
  find(id: string): Promise<SessionRecord | null> {
    return this.findByKey(sessionKeyOf(id));
  }

  /** Returns the session with a token, or null. Anybody can send any number of invented tokens, so Redis stores nothing about them. @throws as `find` does */
  findByToken(token: string): Promise<SessionRecord | null> {
    return this.findByKey(sessionKeyOf(token), false);
  }

  /**
   * Returns the session with a key, or null.
   * @param cacheAbsence whether Redis stores for a minute that there is no such session
   * @throws as `find` does
   */
  async findByKey(key: string, cacheAbsence = true): Promise<SessionRecord | null> {
    const cached = await this.#app.redis.get(this.#cacheKey(key));
    if (cached === ENDED) return null;
    if (cached === ENDING) {
      // Deletes the row before it returns null, because Redis may lose the mark, and then the row would make the session valid again.
      await this.#finish([key]);
      return null;
    }
    const session = cached === null ? await this.#load(key, cacheAbsence) : decodeSession(cached);
    return session && session.expiresAt > this.#now() ? session : null;
  }

  /**
   * Extends a session whose last extension is at least 60 s old.
   * @returns the session, and whether this call extended it; null when the session has ended
   */
  async extend(id: string): Promise<{ session: SessionRecord; extended: boolean } | null> {
    const key = sessionKeyOf(id);
    const [extended] = await this.#app.tx((tx) => tx.query(extendSession, [bytesOfKey(key)]));
    const session = extended ?? (await this.#app.db.query(findSession, [bytesOfKey(key)]))[0];
    if (!session) return null;
    this.#ignoreFailure(this.#app.redis.eval(CACHE_UNLESS_ENDED, 1, this.#cacheKey(key), encodeSession(session), this.#ttl(session)));
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

  async #load(key: string, cacheAbsence: boolean): Promise<SessionRecord | null> {
    const [session = null] = await this.#app.db.query(findSession, [bytesOfKey(key)]);
    if (session === null && !cacheAbsence) return null;
    const cached = session ? encodeSession(session) : ENDED;
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
    await this.#app.tx((tx) => run(tx, build.deleteFrom('sessions').where('key', 'in', keys.map(bytesOfKey))));
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
