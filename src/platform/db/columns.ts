import { type EntitySchema, p } from '@mikro-orm/core';

/**
 * Builders for the columns of entities, one per PostgreSQL type that the tables use. The TypeScript type of a column is the type that node-postgres
 * returns for it, so that MikroORM and Kysely agree: a string for bigint, numeric and timestamptz.
 */
export const text = () => p.string().columnType('text');

/** Text that is compared byte by byte, so that keys and their order do not depend on the locale of the database. */
export const byteText = () => text().collation('C');

/** A text that has one of a few values. PostgreSQL checks the value. */
export const oneOf = <const Value extends string>(...values: readonly Value[]) => p.enum(values).columnType('text');

/** A base58 wallet address (domain `wallet`: text that is compared byte by byte). */
export const wallet = () => p.string().columnType('wallet');

/** An amount in base units of a token (domain `token_amount`). */
export const tokenAmount = () => p.string().columnType('token_amount');

export const uuid = () => p.uuid();
export const integer = () => p.integer().autoincrement(false);
export const smallint = () => p.smallint().autoincrement(false);
export const bigint = () => p.bigint('string').autoincrement(false);
/** A bigint key that PostgreSQL generates. */
export const identity = () => p.bigint('string').autoincrement().columnType('bigint generated always as identity');
/** @param type the type with its precision, such as `numeric(10,6)` */
export const numeric = (type = 'numeric') => p.decimal('string').columnType(type);
export const boolean = () => p.boolean();
/** @param precision decimal places of the seconds: 3 for milliseconds; PostgreSQL stores six without it */
export const timestamp = (precision?: 3 | 6) => p.string().columnType(precision === undefined ? 'timestamptz' : `timestamptz(${precision})`);
export const bytes = () => p.blob().$type<Buffer>();
/** @typeParam Value the JSON value; not checked at run time */
export const jsonb = <Value = unknown>() => p.json<Value>();
/** JSON whose text PostgreSQL stores unchanged. */
export const json = <Value = unknown>() => p.json<Value>().columnType('json');
export const interval = () => p.string().columnType('interval');

/** Element types of arrays, and the types that node-postgres returns for the elements. */
interface ArrayElements {
  text: string;
  uuid: string;
  int2: number;
  int4: number;
  int8: string;
  numeric: string;
}
export const array = <Element extends keyof ArrayElements>(element: Element) =>
  p.string().columnType(`${element}[]`).$type<ArrayElements[Element][]>();

/**
 * A column that references the primary key of another table. The property holds the key, not the entity.
 * @param column name of the column
 */
export const reference = <Target extends EntitySchema & { '~entity': unknown }, const Column extends string>(target: Target, column: Column) =>
  p.manyToOne(target).mapToPk().fieldName(column).updateRule('no action').deleteRule('no action').index(false);

/**
 * The partitions of a table: one per UTC month of the cause, which the property `key` contains. The SQL function `make_partitions` makes the months.
 * @param table name of the table
 */
export const byMonth = <const Key extends string>(table: string, key: Key) => ({
  type: 'range' as const,
  expression: key,
  partitions: [{ name: `${table}_first`, values: 'from (minvalue) to (maxvalue)' }],
});

/** Checks of a table. Each row must satisfy each expression. */
export const checks = (...expressions: readonly string[]) => expressions.map((expression, i) => ({ name: `check_${i + 1}`, expression }));

/**
 * An index of a table.
 * @param sql the statement that creates the index
 */
export const index = (sql: string) => ({ name: wordAfter('index', sql), expression: sql });

/**
 * A trigger of a table.
 * @param sql the statement that creates the trigger
 */
export const trigger = (sql: string) => ({
  name: wordAfter('trigger', sql),
  timing: sql.includes(' before ') ? ('before' as const) : ('after' as const),
  events: (['insert', 'update', 'delete', 'truncate'] as const).filter((event) => sql.includes(` ${event} `)),
  expression: sql,
});

function wordAfter(word: string, sql: string): string {
  const found = new RegExp(`\\b${word} (\\w+)`).exec(sql)?.[1];
  if (!found) throw new Error(`this SQL names no ${word}: ${sql}`);
  return found;
}
