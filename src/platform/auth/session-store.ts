import { hash, randomBytes } from 'node:crypto';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A session as it stands; instants in milliseconds since 1970. */
export interface SessionRecord {
  readonly wallet: string;
  readonly createdAt: number;
  readonly extendedAt: number;
  readonly expiresAt: number;
}

/** A session is extended when this long has passed since it last was, ms. */
const EXTEND_EVERY_MS = 60_000;
/** How long a session lives unused, and at most, ms. The SQL below says the same. */
const ROLLING_MS = 7 * 86_400_000;
const LIFETIME_MS = 30 * 86_400_000;
/** How long Redis may answer for the record, and for a key that is no session, ms. */
const CACHED_MS = 10 * 60_000;
const ABSENT_MS = 60_000;
/** Longer than any reader holds on to a row that it read before the session ended, ms. */
const GONE_MS = 15 * 60_000;

/** Stands where a session was cached: it is over, and nobody may cache it again. */
const GONE = 'gone';
/** The same, and its row may still be there: whoever meets this deletes the row. */
const ENDING = 'ending';

const COLUMNS = ['created_at', 'extended_at', 'expires_at'].map((c) => `(extract(epoch from ${c}) * 1000)::float8 as ${c}`).join(', ');
const CLOCK = `clock as materialized (select date_trunc('milliseconds', app_now()) as now)`;

interface Row {
  wallet: string;
  created_at: number;
  extended_at: number;
  expires_at: number;
}

const insertSession = statement<Row>(
  'insert_session',
  `with ${CLOCK}
   insert into sessions (key, wallet, created_at, extended_at, expires_at)
   select $1, $2, now, now, now + interval '168 hours' from clock returning wallet, ${COLUMNS}`,
);
const findSession = statement<Row>('find_session', `select wallet, ${COLUMNS} from sessions where key = $1 and expires_at > app_now()`);
// Of requests at the same moment one extends; the others find what it left.
const extendSession = statement<Row>(
  'extend_session',
  `with ${CLOCK}
   update sessions set extended_at = now, expires_at = least(now + interval '168 hours', created_at + interval '720 hours') from clock
   where key = $1 and extended_at <= now - interval '60 seconds' and expires_at > now returning wallet, ${COLUMNS}`,
);
const deleteSessions = statement('delete_sessions', 'delete from sessions where key = any($1::bytea[])');
const sessionsOfWallet = statement<{ key: Buffer }>('sessions_of_wallet', 'select key from sessions where wallet = $1 limit 500');

/** Overwrites what is cached, unless the session is over. */
const CACHE_UNLESS_OVER = `local cached = redis.call('GET', KEYS[1])
if cached == '${GONE}' or cached == '${ENDING}' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const toRecord = (row: Row): SessionRecord => ({
  wallet: row.wallet,
  createdAt: row.created_at,
  extendedAt: row.extended_at,
  expiresAt: row.expires_at,
});

const encode = (s: SessionRecord) => `${s.wallet} ${s.createdAt} ${s.extendedAt} ${s.expiresAt}`;

function decode(text: string): SessionRecord {
  const [wallet = '', createdAt, extendedAt, expiresAt] = text.split(' ');
  return { wallet, createdAt: Number(createdAt), extendedAt: Number(extendedAt), expiresAt: Number(expiresAt) };
}

/** What the record and Redis know a session by, in base64url: they hold no id that would open one. */
const keyOf = (id: string): string => hash('sha256', id, 'base64url');
const bytesOf = (key: string): Buffer => Buffer.from(key, 'base64url');

/** Whether it is time to extend a session, and doing so would let it live longer. */
export function isDue(session: SessionRecord, now: number): boolean {
  return now - session.extendedAt >= EXTEND_EVERY_MS && Math.min(now + ROLLING_MS, session.createdAt + LIFETIME_MS) > session.expiresAt;
}

/** Creates a session for a wallet. Its id goes into the cookie and nowhere else. */
export async function createSession(tx: Tx, wallet: string): Promise<{ id: string; session: SessionRecord }> {
  const id = randomBytes(32).toString('base64url');
  const [row] = await tx.query(insertSession, [bytesOf(keyOf(id)), wallet]);
  if (!row) throw new Error('a session was not inserted');
  return { id, session: toRecord(row) };
}

/**
 * Sessions: rows of the record, cached in Redis. One key of Redis says all about one session: what it is, that it is over,
 * or nothing, and then the record knows. An ending session is marked there first, so that no reader that saw the row
 * before, and no extension under way, can bring it back.
 */
export class SessionStore {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  /** The session of an id, or null. One GET where it is cached. @throws while it is over and the record cannot be told */
  async find(id: string): Promise<SessionRecord | null> {
    const key = keyOf(id);
    const cached = await this.#app.redis.get(this.#cacheKey(key));
    if (cached === GONE) return null;
    if (cached === ENDING) {
      // As long as the row is there nobody is told that it is over: only the mark says so, and Redis may lose it.
      await this.#finish([key]);
      return null;
    }
    const session = cached === null ? await this.#load(key) : decode(cached);
    return session && session.expiresAt > this.#now() ? session : null;
  }

  /**
   * Lets a session live longer.
   * @returns the session as it stands, and whether it was this call that extended it; null when it is over
   */
  async extend(id: string): Promise<{ session: SessionRecord; extended: boolean } | null> {
    const key = keyOf(id);
    const [extended] = await this.#app.tx((tx) => tx.query(extendSession, [bytesOf(key)]));
    const row = extended ?? (await this.#app.db.query(findSession, [bytesOf(key)]))[0];
    if (!row) return null;
    const session = toRecord(row);
    this.#ignoreFailure(this.#app.redis.eval(CACHE_UNLESS_OVER, 1, this.#cacheKey(key), encode(session), this.#ttl(session)));
    return { session, extended: extended !== undefined };
  }

  /** Ends a session, everywhere at once. */
  async end(id: string): Promise<void> {
    await this.#end([keyOf(id)]);
  }

  /** Ends all sessions of a wallet. */
  async endAll(wallet: string): Promise<void> {
    for (;;) {
      const keys = (await this.#app.db.query(sessionsOfWallet, [wallet])).map((row) => row.key.toString('base64url'));
      if (keys.length === 0) return;
      await this.#end(keys);
    }
  }

  async #load(key: string): Promise<SessionRecord | null> {
    const [row] = await this.#app.db.query(findSession, [bytesOf(key)]);
    const session = row ? toRecord(row) : null;
    const cached = session ? encode(session) : GONE;
    this.#ignoreFailure(this.#app.redis.set(this.#cacheKey(key), cached, 'PX', session ? this.#ttl(session) : ABSENT_MS, 'NX'));
    return session;
  }

  /** Marks first, deletes then: a process that is killed in between leaves a mark that outlives the session. */
  async #end(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#app.redis.set(this.#cacheKey(key), ENDING, 'PX', LIFETIME_MS)));
    await this.#finish(keys);
  }

  async #finish(keys: readonly string[]): Promise<void> {
    await this.#app.tx((tx) => tx.query(deleteSessions, [keys.map(bytesOf)]));
    for (const key of keys) this.#ignoreFailure(this.#app.redis.set(this.#cacheKey(key), GONE, 'PX', GONE_MS));
  }

  #now(): number {
    return this.#app.clock.now().getTime();
  }

  #cacheKey(key: string): string {
    return `${this.#app.config.redis.prefix}:session:${key}`;
  }

  #ttl(session: SessionRecord): number {
    return Math.max(1, Math.min(CACHED_MS, Math.floor(session.expiresAt - this.#now())));
  }

  /** The record has what counts; Redis is only told. */
  #ignoreFailure(told: Promise<unknown>): void {
    told.catch((error: unknown) => this.#app.log.debug({ err: error }, 'a session could not be cached'));
  }
}
