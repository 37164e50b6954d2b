import type { EntitySchemaWithMeta } from '@mikro-orm/core';
import type { InferKyselyDB } from '@mikro-orm/postgresql';
import {
  type Compilable,
  type DeleteResult,
  type Driver,
  HandleEmptyInListsPlugin,
  type InsertResult,
  Kysely,
  type MergeResult,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  replaceWithNoncontingentExpression,
  sql,
  type UpdateResult,
} from 'kysely';
import { type Queryable, type Statement, statement } from './sql.ts';

/** A driver without a connection, because `run` sends the built queries to the connection of a transaction or of the pool. */
const noConnection: Driver = {
  init: async () => {},
  acquireConnection: () => Promise.reject(new Error('a query builder has no connection; pass the query to run()')),
  releaseConnection: async () => {},
  beginTransaction: async () => {},
  commitTransaction: async () => {},
  rollbackTransaction: async () => {},
  destroy: async () => {},
};

/**
 * Writes booleans and the values of `oneOf` columns into the SQL text. Other values become parameters. PostgreSQL plans statements without their
 * parameters (see planOnce in orm.ts), so it could not use a partial index such as `where state = 'pending'` for a parameter.
 */
class QueryCompiler extends PostgresQueryCompiler {
  readonly #literals: ReadonlySet<unknown>;

  constructor(literals: ReadonlySet<unknown>) {
    super();
    this.#literals = literals;
  }

  protected override appendValue(value: unknown): void {
    if (typeof value === 'boolean' || this.#literals.has(value)) this.appendImmediateValue(value);
    else super.appendValue(value);
  }
}

/** Returns the values that the `oneOf` columns of some tables can have. */
const enumeratedValues = (tables: readonly EntitySchemaWithMeta[]): ReadonlySet<unknown> =>
  new Set(tables.flatMap((table) => Object.values(table.meta.properties).flatMap((property) => property.items ?? [])));

/**
 * Creates a query builder for some tables. Names and types of columns come from the entities, so a misspelt column does not compile. The builder only
 * builds SQL; `run(tx, query)` or `run(app.db, query)` runs the query. Values of the types bigint, numeric and timestamptz are strings. Write a JSON
 * value as text (`JSON.stringify`), because node-postgres writes a JavaScript array as a PostgreSQL array.
 */
export function queryBuilder<Table extends EntitySchemaWithMeta>(tables: readonly Table[]): Kysely<InferKyselyDB<Table>> {
  const literals = enumeratedValues(tables);
  return new Kysely<InferKyselyDB<Table>>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => noConnection,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new QueryCompiler(literals),
    },
    // `in ()` is invalid SQL. A condition with an empty list becomes false, or true for `not in`.
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  });
}

/**
 * Returns the expression that formats a timestamp column as ISO 8601 in UTC with milliseconds, like `instant` in sql.ts.
 * @typeParam Value `string | null` for a column that can be null
 */
export const isoInstant = <Value extends string | null = string>(column: string): RawBuilder<Value> =>
  sql<Value>`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

type BuiltQuery = Compilable<unknown>;

/** The row type of a built query. A query without `returning` has no rows. */
type RowOf<Query extends BuiltQuery> =
  Query extends Compilable<infer Row> ? (Row extends InsertResult | UpdateResult | DeleteResult | MergeResult ? never : Row) : never;

/** Runs a query of a query builder and returns its rows. */
export function run<Query extends BuiltQuery>(db: Queryable, query: Query): Promise<RowOf<Query>[]> {
  const { sql: text, parameters } = query.compile();
  return db.query<RowOf<Query>>({ text }, parameters);
}

/** The place of a value in a query that `prepared` declares. @param position position of the value in the list of values, from 1 */
export const placeholder = <Value>(position: number): RawBuilder<Value> => sql<Value>`${sql.raw(`$${position}`)}`;

/**
 * Declares a built query as a named statement, which each connection prepares once. Use it for a query that runs often and whose text never changes:
 * building and planning a query takes about 100 µs.
 * @param query contains placeholders in place of values
 * @throws Error when the query contains a value, because the statement would not send it
 */
export function prepared<Query extends BuiltQuery>(name: string, query: Query): Statement<RowOf<Query>> {
  const { sql: text, parameters } = query.compile();
  if (parameters.length > 0) throw new Error(`the query ${name} contains values; use placeholders`);
  return statement<RowOf<Query>>(name, text);
}
