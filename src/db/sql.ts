import type { Kysely } from 'kysely';
import { CompiledQuery } from 'kysely';
import pg from 'pg';

/** A statement of a hot path: its text, and the row it returns. Prepared once per connection under its name. */
export interface Statement<Row> {
  readonly text: string;
  /** Carries the row's type only. */
  readonly row?: Row;
}

const PREPARED = /^\/\* prepared ([a-z_]+) \*\//;

/**
 * Declares a statement. Rows are what node-postgres makes of them: cast bigint to `int` or `text` in the SQL.
 * @param name unique in the service; PostgreSQL keeps the plan under it
 */
export function statement<Row>(name: string, text: string): Statement<Row> {
  return { text: `/* prepared ${name} */ ${text}` };
}

/** A connection that prepares the statements declared here. Kysely passes on text alone, so the name rides in a comment. */
export class PreparingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg overloads `query` a dozen ways; this forwards all of them.
  override query(...args: any[]): any {
    const [text, values, ...rest] = args;
    const name = typeof text === 'string' ? PREPARED.exec(text)?.[1] : undefined;
    // biome-ignore lint/suspicious/noExplicitAny: see above.
    const query = super.query.bind(this) as (...all: any[]) => any;
    return name ? query({ name, text, values }, ...rest) : query(...args);
  }
}

/** Whatever can run a statement: a transaction, or the pool for reads outside one. */
export interface Queryable {
  query<Row>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>;
}

/** Makes a Kysely (of the pool or of a transaction) run statements. */
export function queryable(kysely: () => Kysely<unknown>): Queryable {
  return {
    async query<Row>(statement: Statement<Row>, values: readonly unknown[] = []) {
      const result = await kysely().executeQuery<Row>(CompiledQuery.raw(statement.text, [...values]));
      return result.rows;
    },
  };
}
