import pg from 'pg';

/** Timeout of a connection that finds out whether a server accepts writes, ms. It is shorter than the timeout of a connection of the pool. */
const ROLE_TIMEOUT_MS = 2_000;

/** SQLSTATE 57P03 means that the server cannot be used now. The service treats it as a dependency that is down. */
const unusable = (message: string, cause?: unknown): Error => Object.assign(new Error(message, { cause }), { code: '57P03' });

/**
 * Returns one URL per server of a PostgreSQL URL. The URL may name several servers, as in libpq: `postgresql://user@first:5432,second:5432/database`.
 * All servers have the same user, password, database and parameters.
 */
export function serverUrls(url: string): string[] {
  const [, begin = '', hosts = '', end = ''] = /^([a-z]+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s.exec(url) ?? [];
  return begin === '' ? [url] : hosts.split(',').map((host) => `${begin}${host}${end}`);
}

/** What a server says about itself. */
interface ServerRole {
  readonly url: string;
  readonly isStandby: boolean;
  /** Number of the timeline, which increases with each promotion; null for a standby. */
  readonly timeline: number | null;
}

/** Asks a server for its role. @throws when it does not answer within two seconds */
export async function readServerRole(url: string): Promise<ServerRole> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ROLE_TIMEOUT_MS, query_timeout: ROLE_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Omit<ServerRole, 'url'>>(
      `select pg_is_in_recovery() as "isStandby", case when not pg_is_in_recovery() then ${CURRENT_TIMELINE} end as timeline`,
    );
    return { url, isStandby: rows[0]?.isStandby ?? true, timeline: rows[0]?.timeline ?? null };
  } finally {
    // Does not end the session with a message, because the server may not read it.
    client.connection.stream.destroy();
  }
}

/**
 * The SQL expression of the timeline into which the primary writes. `pg_control_checkpoint()` would return the timeline of the last checkpoint, which
 * is the old one until the first checkpoint after a promotion, for up to `checkpoint_timeout`. Fails on a standby.
 */
export const CURRENT_TIMELINE = `('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int`;

async function readServerRoles(urls: readonly string[]): Promise<{ readonly found: readonly ServerRole[]; readonly error: unknown }> {
  const results = await Promise.allSettled(urls.map(readServerRole));
  return {
    found: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    error: results.find((result) => result.status === 'rejected')?.reason,
  };
}

/**
 * Returns the URL of the server that accepts writes. When two servers accept writes, because the old primary was not stopped at a failover, returns the
 * server with the newer timeline. Does not connect when there is only one server.
 * @throws when no server accepts writes
 */
export async function findPrimary(url: string): Promise<string> {
  const urls = serverUrls(url);
  const [first] = urls;
  if (first !== undefined && urls.length === 1) return first;
  const { found, error } = await readServerRoles(urls);
  const [newest] = found.filter(({ isStandby }) => !isStandby).sort((a, b) => (b.timeline ?? 0) - (a.timeline ?? 0));
  if (!newest) throw unusable('no PostgreSQL server of the URL accepts writes', error);
  return newest.url;
}

/** Returns the URL of a standby. @throws when no server is a standby */
export async function findStandby(url: string): Promise<string> {
  const { found, error } = await readServerRoles(serverUrls(url));
  const standby = found.find(({ isStandby }) => isStandby);
  if (!standby) throw unusable('no PostgreSQL server of the URL is a standby', error);
  return standby.url;
}

/** Finds a server once and keeps the result until `forget` is called. Concurrent calls share one search. */
export class KnownServer {
  readonly #find: () => Promise<string>;
  #url: Promise<string> | null = null;
  #latest: string | null = null;

  constructor(find: () => Promise<string>) {
    this.#find = find;
  }

  url(): Promise<string> {
    if (this.#url) return this.#url;
    const found = this.#find();
    this.#url = found;
    found.then(
      (url) => {
        this.#latest = url;
      },
      () => this.forget(),
    );
    return found;
  }

  /** Returns whether the latest search found this server. */
  isLatest(url: string): boolean {
    return this.#latest === url;
  }

  /** Makes the next call of `url` search again. */
  forget(): void {
    this.#url = null;
  }
}
