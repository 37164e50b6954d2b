import type { Writable } from 'node:stream';
import { CompiledQuery, type Kysely } from 'kysely';
import pg from 'pg';
import { observeStatement } from '#platform/observability/metrics/metrics.ts';
import { traceStatement } from '#platform/observability/tracing/tracing.ts';

/** An SQL statement and the type of its rows. A named statement is prepared once per connection. */
export interface Statement<Row> {
  /** Key of the prepared statement. Rarely used statements have none and are planned each time. */
  readonly name?: string;
  readonly text: string;
  /** Carries only the type of the row; it has never a value. */
  readonly row?: Row;
}

/**
 * Declares a statement. Rows arrive as node-postgres decodes them, so cast bigint to `int`, `float8` or `text` in the SQL.
 * @param name unique in the service; PostgreSQL stores the plan under this name
 */
export function statement<Row>(name: string, text: string): Statement<Row> {
  return { name, text };
}

/**
 * Returns the SQL that formats a timestamp as ISO 8601 in UTC with milliseconds.
 * @param at an SQL expression, such as a column
 */
export const instant = (at: string): string => `to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Runs statements: a transaction, or the pool for reads outside a transaction. */
export interface Queryable {
  query<Row>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>;
}

/** A query text that `PipelinedClient` answers with the client itself. It is never sent to the server. */
const ITSELF = '/* the connection itself */';

/**
 * A pg client that can be fetched through Kysely with the query `ITSELF`. Kysely and MikroORM hide their client and support neither named statements
 * nor several statements in one round trip.
 */
export class PipelinedClient extends pg.Client {
  #ended = false;
  /** Returns the client to its pool. Set when the last holder has left. */
  #release: ((isLost: boolean) => void) | null = null;

  constructor(config?: pg.ClientConfig) {
    super(config);
    this.once('end', () => {
      this.#ended = true;
      this.#returnToPool();
    });
  }

  /**
   * Marks the client as in use. When the connection is lost inside a transaction, the rollback of the holder fails and the holder never releases the
   * client, so each loss would cost the pool one connection.
   * @returns a function to call at the end of the use; from then on the client releases itself when its connection is lost
   */
  hold(): () => void {
    // Each holder has its own release function.
    const release = 'release' in this && typeof this.release === 'function' ? this.release : null;
    return () => {
      this.#release = release && ((isLost) => void release(isLost));
      if (this.#ended) this.#returnToPool();
    };
  }

  #returnToPool(): void {
    try {
      this.#release?.(true);
    } catch {
      // The holder released the client already.
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg overloads `query` a dozen ways; this forwards all of them.
  override query(...args: any[]): any {
    if (args[0] === ITSELF) return Promise.resolve({ command: '', rowCount: 0, rows: [this] });
    // biome-ignore lint/suspicious/noExplicitAny: see above.
    return (super.query as (...all: any[]) => any).apply(this, args);
  }
}

/**
 * Returns the client behind a transaction's Kysely, for named statements. Statements started together (`Promise.all`) share one round trip and run in
 * the order in which they were started.
 */
export async function connectionOf(kysely: Kysely<unknown>): Promise<Queryable & { release(): void }> {
  const client = (await kysely.executeQuery<pg.Client & Pick<PipelinedClient, 'hold'>>(CompiledQuery.raw(ITSELF))).rows[0];
  if (!client) throw new Error('the database driver kept its connection to itself');
  return {
    query: async <Row>(statement: Statement<Row>, values: readonly unknown[] = []) => {
      corkForTick(client.connection.stream);
      return (await observed(statement, () => client.query<Row & pg.QueryResultRow>({ ...statement, values: [...values] }))).rows;
    },
    release: client.hold(),
  };
}

/** Collects the writes of one tick, so that they leave in one system call. */
function corkForTick(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Runs statements on any connection of a pool. */
export function pooled(pool: () => Promise<pg.Pool>): Queryable {
  return {
    query: async <Row>(statement: Statement<Row>, values: readonly unknown[] = []) =>
      (await observed(statement, async () => (await pool()).query<Row & pg.QueryResultRow>({ ...statement, values: [...values] }))).rows,
  };
}

const observed = <T>({ name }: Pick<Statement<unknown>, 'name'>, run: () => Promise<T>): Promise<T> =>
  observeStatement(name, () => traceStatement(name, run));
