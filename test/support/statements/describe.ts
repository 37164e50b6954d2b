import pg from 'pg';
import type { ValueKind } from './declared-rows.ts';

/** A column that PostgreSQL says a statement returns. */
export interface ReturnedColumn {
  readonly name: string;
  readonly kind: ValueKind;
  /** Name of the PostgreSQL type. */
  readonly type: string;
  /** Whether the table allows null in this column; null when the column is an expression. */
  readonly nullable: boolean | null;
}

interface Field {
  readonly name: string;
  readonly tableID: number;
  readonly columnID: number;
  readonly dataTypeID: number;
}

/**
 * Prepares a statement and asks PostgreSQL for its columns, without running the statement (messages Parse, Describe and Sync of the protocol,
 * https://www.postgresql.org/docs/current/protocol-flow.html).
 */
class Description implements pg.Submittable {
  readonly fields: Promise<readonly Field[]>;
  readonly #text: string;
  #fields: readonly Field[] = [];
  readonly #settle: PromiseWithResolvers<readonly Field[]> = Promise.withResolvers();

  constructor(text: string) {
    this.#text = text;
    this.fields = this.#settle.promise;
  }

  submit(connection: pg.Connection): void {
    connection.parse({ name: '', text: this.#text, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  handleRowDescription(message: { fields: readonly Field[] }): void {
    this.#fields = message.fields;
  }

  handleError(error: Error): void {
    this.#settle.reject(error);
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#fields);
  }
}

/** Types of PostgreSQL by name, and the JavaScript value that node-postgres makes of each. */
const KINDS: Readonly<Record<string, ValueKind>> = {
  text: 'string',
  uuid: 'string',
  varchar: 'string',
  name: 'string',
  int8: 'string',
  numeric: 'string',
  timestamptz: 'string',
  int2: 'number',
  int4: 'number',
  oid: 'number',
  float4: 'number',
  float8: 'number',
  bool: 'boolean',
  bytea: 'bytes',
  json: 'json',
  jsonb: 'json',
  _text: 'string[]',
  _uuid: 'string[]',
  _int8: 'string[]',
  _numeric: 'string[]',
  _int2: 'number[]',
  _int4: 'number[]',
  _float8: 'number[]',
  _bool: 'boolean[]',
};

/** Opens a connection that describes statements on a migrated database. */
export async function openDescriber(url: string): Promise<{ describe(text: string): Promise<ReturnedColumn[]>; close(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const types = await client.query<{ oid: number; name: string }>('select oid::int as oid, typname as name from pg_type');
  const nameOf = new Map(types.rows.map(({ oid, name }) => [oid, name]));
  const columns = await client.query<{ key: string; nullable: boolean }>(
    `select a.attrelid || '.' || a.attnum as key, not a.attnotnull as nullable
     from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'public'::regnamespace and a.attnum > 0`,
  );
  const nullable = new Map(columns.rows.map((column) => [column.key, column.nullable]));
  return {
    async describe(text) {
      const fields = await client.query(new Description(text)).fields;
      return fields.map((field) => {
        const type = nameOf.get(field.dataTypeID) ?? String(field.dataTypeID);
        return { name: field.name, type, kind: KINDS[type] ?? 'unknown', nullable: nullable.get(`${field.tableID}.${field.columnID}`) ?? null };
      });
    },
    close: () => client.end(),
  };
}
