import type { Writable } from 'node:stream';
import { CompiledQuery, type Kysely } from 'kysely';
import pg from 'pg';
import { observeStatement } from '#platform/observability/metrics/metrics.ts';
import { traceStatement } from '#platform/observability/tracing/tracing.ts';

/** A statement of a hot path: its text, and the row it returns. Prepared once per connection under its name. */
export interface Statement<Row> {
  /** Without one it is planned each time: for statements that are seldom run. */
  readonly name?: string;
  readonly text: string;
  /** Carries the row's type only; never set. */
  readonly row?: Row;
}

/**
 * Declares a statement. Rows are what node-postgres makes of them: cast bigint to `int`, `float8` or `text` in the SQL.
 * @param name unique in the service; PostgreSQL keeps the plan under it
 */
export function statement<Row>(name: string, text: string): Statement<Row> {
  return { name, text };
}

/** SQL: an instant as it is told, ISO 8601 in UTC with milliseconds. @param at an expression, such as a column */
export const instant = (at: string): string => `to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Whatever can run a statement: a transaction, or the pool for reads outside one. */
export interface Queryable {
  query<Row>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>;
}

/** What a connection is asked for by whoever wants it itself. No server ever sees it. */
const ITSELF = '/* the connection itself */';

/**
 * A connection that hands itself over when asked: Kysely and MikroORM keep theirs to themselves, and pass on neither
 * the names of statements nor several of them at once.
 */
export class PoolClientAccess extends pg.Client {
  #ended = false;
  /** Gives it back to its pool, once, for whoever left it last. */
  #release: ((isLost: boolean) => void) | null = null;

  constructor(config?: pg.ClientConfig) {
    super(config);
    this.once('end', () => {
      this.#ended = true;
      this.#giveBack();
    });
  }

  /**
   * Whoever holds it would roll back when it is lost, and keep it when that fails: each loss within a transaction would cost the pool a place.
   * @returns what its holder calls when done with it; from then on it goes back by itself once it is lost, now or later
   */
  held(): () => void {
    // That of its present holder: each has one of its own.
    const release = 'release' in this && typeof this.release === 'function' ? this.release : null;
    return () => {
      this.#release = release && ((isLost) => void release(isLost));
      if (this.#ended) this.#giveBack();
    };
  }

  #giveBack(): void {
    try {
      this.#release?.(true);
    } catch {
      // It was given back after all.
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
 * The connection behind a transaction's Kysely, for statements by name. They go out at once, one after the other:
 * those that are asked for together (`Promise.all`) share one round trip, and run in the order asked.
 */
export async function connectionOf(kysely: Kysely<unknown>): Promise<Queryable & { leave(): void }> {
  const client = (await kysely.executeQuery<pg.Client & Pick<PoolClientAccess, 'held'>>(CompiledQuery.raw(ITSELF))).rows[0];
  if (!client) throw new Error('the database driver kept its connection to itself');
  return {
    query: async <Row>(statement: Statement<Row>, values: readonly unknown[] = []) => {
      leaveTogether(client.connection.stream);
      return (await observed(statement, () => client.query<Row & pg.QueryResultRow>({ ...statement, values: [...values] }))).rows;
    },
    leave: client.held(),
  };
}

/** What is written until the caller waits for something leaves in one system call. */
function leaveTogether(stream: Writable): void {
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
