import type { Config } from '#config';
import { batching } from '#lib/concurrency/batching.ts';
import { type App, perApp } from '#platform/app.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { milliseconds, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { SessionsTable } from './entities.ts';
import { cacheUnlessEnded, ENDED, ENDING, markSession, readCached } from './session-cache.ts';
import {
  bytesOfKey,
  decodeSession,
  EXTENSION_INTERVAL_MS,
  encodeSession,
  newSessionId,
  type SessionRecord,
  sessionKeyOf,
  type Transport,
} from './session-record.ts';
import { readForToken } from './token-reads.ts';

/** Maximum lifetime of a session, ms. The SQL statement `extend_sessions` contains the same value, 720 hours. */
const MAX_LIFETIME_MS = 30 * 86_400_000;
/** Maximum sessions of a wallet. A sign-in ends the oldest sessions beyond this number. */
export const MAX_SESSIONS = 100;
/** Maximum age of a cached session, ms. */
const CACHE_TTL_MS = 10 * 60_000;
/** Lifetime of a cache entry that says that no session exists for a key, ms. */
const ABSENT_TTL_MS = 60_000;
/**
 * Lifetime of the mark `ENDED` in the cache, ms. It is longer than the time between reading a session's row and caching the session, so that a slow
 * reader cannot cache an ended session.
 */
const ENDED_TTL_MS = 15 * 60_000;

const COLUMNS = `wallet, ${milliseconds('created_at')} as "createdAt", ${milliseconds('extended_at')} as "extendedAt", ${milliseconds('expires_at')} as "expiresAt", transport, origin`;
const CLOCK = `clock as materialized (select date_trunc('milliseconds', app_now()) as now)`;

const insertSession = statement<SessionRecord>(
  'insert_session',
  `with ${CLOCK}
   insert into sessions (key, wallet, created_at, extended_at, expires_at, transport, origin)
   select $1, $2, now, now, now + case $3 when 'bearer' then interval '24 hours' else interval '168 hours' end, $3, $4 from clock returning ${COLUMNS}`,
);
const findSession = statement<SessionRecord>('find_session', `select ${COLUMNS} from sessions where key = $1 and expires_at > (select app_now())`);
// Only one of several concurrent requests extends a session. The other requests read the extended row. A session with the transport bearer ends 24 hours
// after its start: only its last use is recorded. Locks the rows in the order of their keys, so that two transactions do not deadlock.
const extendSessions = statement<SessionRecord & { key: Buffer }>(
  'extend_sessions',
  `with ${CLOCK},
   due as materialized (
     select s.key from sessions s, clock where s.key = any($1::bytea[]) and s.extended_at <= now - interval '${EXTENSION_INTERVAL_MS} milliseconds' and s.expires_at > now
     order by s.key for no key update of s)
   update sessions s set extended_at = now, expires_at = case transport
     when 'bearer' then expires_at else least(now + interval '168 hours', created_at + interval '720 hours') end from clock, due
   where s.key = due.key returning s.key, ${COLUMNS}`,
);

// Locks the rows in the order of `extend_sessions`, so that the two statements do not deadlock.
const deleteSessions = statement(
  'delete_sessions',
  `with ended as materialized (select key from sessions where key = any($1::bytea[]) order by key for update)
   delete from sessions s using ended where s.key = ended.key`,
);

const build = queryBuilder([SessionsTable]);

/** Returns the Redis channel on which the keys of ended sessions are published, separated by spaces, so that every process ends their connections. */
export const endedSessionsChannel = (config: Config): string => `${config.redis.prefix}:sessions:ended`;

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

/** A session to extend. `extended` is set when its transaction has extended it. */
interface PendingExtension {
  readonly key: string;
  extended?: SessionRecord;
}

/** Extends the sessions of concurrent requests in one transaction. While a transaction runs, further sessions wait for the next transaction. */
const extender = perApp((app) =>
  batching<PendingExtension>(
    async (batch) => {
      const rows = await app.tx((tx) => tx.query(extendSessions, [[...new Set(batch.map(({ key }) => key))].map(bytesOfKey)]));
      for (const { key, ...session } of rows) {
        // Only one of several requests of a session has extended it.
        const first = batch.find((pending) => pending.key === key.toString('base64url'));
        if (first) first.extended = session;
      }
    },
    { maxSize: 500, maxConcurrent: 1 },
  ),
);

/**
 * Stores sessions in PostgreSQL and caches them in Redis under two keys per session: a mark that the session has ended, and a copy of the session.
 * Without both, the row in PostgreSQL decides. To end a session, the store sets the mark before it deletes the row and again afterwards, so that a
 * concurrent read or extension cannot cache the session again. A failover may lose the marks, so it invalidates all copies.
 */
export class SessionStore {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  /**
   * Returns the session with an id, or null. Costs a share of one Redis command when the session is cached.
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
    const { mark, copy, replicationId } = await readCached(this.#app, this.#cacheKeys(key));
    if (mark === ENDED) return null;
    if (mark === ENDING) {
      // Deletes the row before it returns null, because Redis may lose the mark, and then the row would make the session valid again.
      await this.#finish([key]);
      return null;
    }
    const session = copy === '' ? await this.#load(key, cacheAbsence, replicationId) : decodeSession(copy);
    return session && session.expiresAt > this.#now() ? session : null;
  }

  /**
   * Extends a session whose last extension is at least `EXTENSION_INTERVAL_MS` old, in one transaction with the sessions of other requests.
   * @returns the session, and whether this call extended it; null when the session has ended
   */
  async extend(id: string): Promise<{ session: SessionRecord; extended: boolean } | null> {
    const key = sessionKeyOf(id);
    const known = await readCached(this.#app, this.#cacheKeys(key)).catch(() => null);
    const pending: PendingExtension = { key };
    await this.#app.state(extender)(pending);
    const { extended } = pending;
    const session = extended ?? (await this.#app.db.query(findSession, [bytesOfKey(key)]))[0];
    if (!session) return null;
    if (known !== null) this.#cache(key, session, known.replicationId);
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

  /** Ends the oldest sessions of a wallet beyond `MAX_SESSIONS`, so that the rows of a wallet that signs in again and again stay few. */
  async endSurplus(wallet: string): Promise<void> {
    const newest = build.selectFrom('sessions').select('key').where('wallet', '=', wallet).orderBy('created_at', 'desc').orderBy('key');
    for (;;) {
      const rows = await run(this.#app.db, newest.offset(MAX_SESSIONS).limit(500));
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

  async #load(key: string, cacheAbsence: boolean, replicationId: string): Promise<SessionRecord | null> {
    const read = () => this.#app.db.query(findSession, [bytesOfKey(key)]);
    const [session = null] = cacheAbsence ? await read() : await readForToken(this.#app, read);
    if (session !== null) this.#cache(key, session, replicationId);
    else if (cacheAbsence) this.#ignoreFailure(this.#app.redis.set(this.#markKey(key), ENDED, 'PX', ABSENT_TTL_MS, 'NX'));
    return session;
  }

  #cache(key: string, session: SessionRecord, replicationId: string): void {
    const copy = { session: encodeSession(session), ttl: this.#ttl(session), replicationId };
    this.#ignoreFailure(cacheUnlessEnded(this.#app, this.#cacheKeys(key), copy));
  }

  /**
   * Sets the mark `ENDING`, then deletes the rows. When the process is killed before it deletes the rows, the mark keeps the sessions invalid for the
   * maximum lifetime of a session.
   */
  async #end(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => markSession(this.#app, this.#markKey(key), ENDING, MAX_LIFETIME_MS)));
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
    await this.#app.tx((tx) => tx.query(deleteSessions, [keys.map(bytesOfKey)]));
    // Waits for the marks: after a failover that lost the first marks, a process may have cached a session before its row was deleted.
    await Promise.all(
      keys.map(async (key) => {
        const [mark, copy] = this.#cacheKeys(key);
        await markSession(this.#app, mark, ENDED, ENDED_TTL_MS);
        this.#ignoreFailure(this.#app.redis.unlink(copy));
      }),
    );
  }

  #now(): number {
    return this.#app.clock.now().getTime();
  }

  #markKey(key: string): string {
    return `${this.#app.config.redis.prefix}:session:${key}`;
  }

  /** Returns the keys of the mark and of the copy. The braces are a hash tag: they keep the copy on the node of a cluster that has the mark. */
  #cacheKeys(key: string): [mark: string, copy: string] {
    const mark = this.#markKey(key);
    return [mark, `{${mark}}:copy`];
  }

  #ttl(session: SessionRecord): number {
    return Math.max(1, Math.min(CACHE_TTL_MS, Math.floor(session.expiresAt - this.#now())));
  }

  /** Logs a failed cache update instead of throwing, because the row in PostgreSQL is correct without the cache entry. */
  #ignoreFailure(cached: Promise<unknown>): void {
    cached.catch((error: unknown) => this.#app.log.debug({ err: error }, 'a session could not be cached; it is read from PostgreSQL'));
  }
}
