import type { Writable } from 'node:stream';
import type pg from 'pg';
import { observeStatement } from '#platform/observability/metrics/metrics.ts';
import { traceStatement } from '#platform/observability/tracing/tracing.ts';
import { arrayEncoder } from './array-parameters.ts';
import type { PipelinedClient } from './pipelined-client.ts';
import { sentValues } from './prepared-query.ts';

/** An SQL statement and the type of its rows. A named statement is prepared once per connection. */
export interface Statement<Row> {
  /** Name of the prepared statement. A rarely used statement has no name, and PostgreSQL plans it at each execution. */
  readonly name?: string;
  readonly text: string;
  /** Encodes the values of the parameters for node-postgres. */
  readonly encode?: (values: readonly unknown[]) => unknown[];
  /** Carries the type of the rows for TypeScript only; no code sets this property. */
  readonly row?: Row;
}

/** Every declared statement by its name. A test prepares each of them on a migrated database and compares the columns with the declared row. */
const declared = new Map<string, Statement<unknown>>();

/** Returns every statement that the loaded modules have declared, by its name. */
export const declaredStatements = (): ReadonlyMap<string, Statement<unknown>> => declared;

/**
 * Declares a named statement. node-postgres decodes bigint columns as text, so cast them to `int`, `float8` or `text` in the SQL.
 * @param name must be unique in the service, because PostgreSQL stores the plan under this name
 * @throws Error when another statement has this name
 */
export function statement<Row>(name: string, text: string): Statement<Row> {
  const earlier = declared.get(name);
  if (earlier && earlier.text !== text) throw new Error(`two statements have the name ${name}`);
  const value: Statement<Row> = { name, text, encode: arrayEncoder(text) };
  declared.set(name, value);
  return value;
}

/**
 * Returns the SQL that formats a timestamp as ISO 8601 in UTC with milliseconds.
 * @param at an SQL expression, such as a column
 */
export const instant = (at: string): string => `to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Returns the SQL that returns a timestamp as ms since 1970, like `instant` without microseconds. The difference between a timestamp and its float8 is
 * less than the added half of a microsecond.
 * @param at an SQL expression, such as a column
 */
export const milliseconds = (at: string): string => `floor(date_part('epoch', ${at}) * 1000 + 0.0005)`;

/** Returns the SQL that returns the UTC day number of a timestamp. @param at an SQL expression */
export const dayNumberOf = (at: string): string => `floor(extract(epoch from ${at}) / 86400)::int`;

/**
 * Returns the SQL condition that an id is in a range. PostgreSQL skips the partitions of other months. It does not search an index for this condition,
 * because it uses `all (array[…])` only to choose partitions. With plain limits, PostgreSQL would expect few ids in the range, and could read the index
 * entries of the whole range although an index of the wallet leads to a few rows.
 * @param id the column
 * @param first SQL expression of the smallest id
 * @param last SQL expression of the greatest id
 */
export const idBetween = (id: string, first: string, last: string): string => `${id} >= all (array[${first}]) and ${id} <= all (array[${last}])`;

/** Runs statements: inside a transaction, or on the connection pool for reads outside a transaction. */
export interface Queryable {
  query<Row>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>;
}

/** Runs a statement on a client that has a transaction open. */
export const runStatement = <Row>(client: PipelinedClient, statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> =>
  observed(statement, () => send<Row>(client, statement, values));

async function send<Row>(client: PipelinedClient, statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
  const { name, text } = statement;
  const query = queryOf(statement, values);
  const sent = name === undefined ? null : sentValues(query.values);
  if (name !== undefined && sent !== null) return await client.run<Row>({ name, text, values: sent });
  corkForTick(client.connection.stream);
  return (await client.query(query)).rows;
}

/** Collects the writes of one event-loop tick, so that they are sent with one system call. */
function corkForTick(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Returns a `Queryable` that runs each statement on any free connection of a pool. */
export function pooled(pool: () => Promise<pg.Pool>): Queryable {
  return {
    query: async <Row>(statement: Statement<Row>, values: readonly unknown[] = []) =>
      (await observed(statement, async () => (await pool()).query<Row & pg.QueryResultRow>(queryOf(statement, values)))).rows,
  };
}

const queryOf = ({ name, text, encode }: Statement<unknown>, values: readonly unknown[]) => ({
  ...(name === undefined ? {} : { name }),
  text,
  values: encode ? encode(values) : [...values],
});

const observed = <T>({ name }: Pick<Statement<unknown>, 'name'>, run: () => Promise<T>): Promise<T> =>
  observeStatement(name, () => traceStatement(name, run));
