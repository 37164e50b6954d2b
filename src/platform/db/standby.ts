import pg from 'pg';
import type { Config } from '#config';
import type { Logger } from '#platform/observability/log.ts';
import { standbyClient } from './pipelined-client.ts';
import { serverUrls } from './servers.ts';
import { pooled, type Queryable, statement } from './sql.ts';

/** Runs reads that may be seconds old. */
export interface Reads extends Queryable {
  /** Maximum age of the data that the standby has, ms; null without `DATABASE_READ_URL`. While the standby is down, the age increases. */
  lagMs(): number | null;
  /** Returns whether the standby answers the reads at present; otherwise the primary does. */
  usesStandby(): boolean;
  close(): Promise<void>;
}

/** Interval of the measurements of the lag, ms. The measured lag is at most this much higher than the real one. */
const MEASURE_MS = 250;
/** Maximum number of positions of the primary that wait until the standby has reached them. */
const MAX_POSITIONS = 240;
const STATEMENT_TIMEOUT = '57014';

const selectFlushed = statement<{ lsn: string }>('select_flushed_position', `select (pg_current_wal_flush_lsn() - '0/0')::text as lsn`);
const selectReplayed = statement<{ lsn: string | null }>('select_replayed_position', `select (pg_last_wal_replay_lsn() - '0/0')::text as lsn`);

/**
 * Opens the reads that may be `READ_MAX_LAG_MS` old. A standby answers them; the primary answers them when the standby is further behind, when it is
 * down, or when it cancels the read. Without `DATABASE_READ_URL` the primary answers all of them.
 * @param primary runs reads on the primary
 * @param pool returns the connection pool of the primary, whose options the pool of the standby copies
 */
export function openReads({ database }: Config, primary: Queryable, pool: () => Promise<pg.Pool>, log: Logger): Reads {
  const { readUrl, maxLagMs } = database;
  if (readUrl === null) return { query: primary.query, lagMs: () => null, usesStandby: () => false, close: async () => {} };
  return new StandbyReads(readUrl, maxLagMs, primary, pool, log);
}

class StandbyReads implements Reads {
  readonly #maxLagMs: number;
  readonly #primary: Queryable;
  readonly #standby: Queryable;
  readonly #log: Logger;
  readonly #pool: Promise<pg.Pool>;
  readonly #timer: NodeJS.Timeout;
  /** Positions of the write-ahead log that the primary had reached at a time, oldest first. */
  #positions: { readonly lsn: bigint; readonly at: number }[] = [];
  /** The latest time whose position the standby has replayed. */
  #replayedAt = performance.now();
  #isUp = false;
  #measuring: Promise<void> | null = null;
  #used = false;

  constructor(url: string, maxLagMs: number, primary: Queryable, pool: () => Promise<pg.Pool>, log: Logger) {
    this.#maxLagMs = maxLagMs;
    this.#primary = primary;
    this.#log = log;
    this.#pool = pool().then(({ options }) => {
      // The pool reads the role and the name of the database from this URL; `standbyClient` chooses the server.
      const [connectionString] = serverUrls(url);
      const standby = new pg.Pool({ ...options, connectionString, Client: standbyClient(url) });
      // A connection that is lost while it is not used.
      standby.on('error', () => undefined);
      standby.on('connect', (client) => {
        client.query('set plan_cache_mode = force_generic_plan; set jit = off').catch(() => undefined);
      });
      return standby;
    });
    this.#standby = pooled(() => this.#pool);
    this.#timer = setInterval(() => {
      this.#measuring ??= this.#measure().finally(() => {
        this.#measuring = null;
      });
    }, MEASURE_MS).unref();
  }

  lagMs(): number {
    return performance.now() - this.#replayedAt;
  }

  usesStandby(): boolean {
    return this.#isUp && this.lagMs() <= this.#maxLagMs;
  }

  query: Queryable['query'] = async (read, values) => {
    if (!this.usesStandby()) return await this.#primary.query(read, values);
    try {
      return await this.#standby.query(read, values);
    } catch (error) {
      // A read that takes too long would also take too long on the primary.
      if (Error.isError(error) && 'code' in error && error.code === STATEMENT_TIMEOUT) throw error;
      return await this.#primary.query(read, values);
    }
  };

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#measuring;
    await (await this.#pool).end();
  }

  async #measure(): Promise<void> {
    try {
      const at = performance.now();
      const [flushed] = await this.#primary.query(selectFlushed);
      if (flushed) this.#positions.push({ lsn: BigInt(flushed.lsn), at });
      if (this.#positions.length > MAX_POSITIONS) this.#positions.shift();
      const [replayed] = await this.#standby.query(selectReplayed);
      this.#note(BigInt(replayed?.lsn ?? 0));
      this.#isUp = true;
    } catch {
      this.#isUp = false;
    }
    this.#report();
  }

  #note(replayed: bigint): void {
    const reached = this.#positions.findLastIndex(({ lsn }) => lsn <= replayed);
    this.#replayedAt = this.#positions[reached]?.at ?? this.#replayedAt;
    this.#positions = this.#positions.slice(reached + 1);
  }

  #report(): void {
    const uses = this.usesStandby();
    if (uses === this.#used) return;
    this.#used = uses;
    if (uses) this.#log.info('the standby answers reads that may be seconds old');
    else this.#log.warn({ lagMs: Math.round(this.lagMs()) }, 'the standby is down or too far behind; the primary answers all reads');
  }
}
