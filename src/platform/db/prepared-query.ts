import pg from 'pg';

/** The columns of a statement. */
export interface RowShape {
  readonly columns: readonly { readonly name: string; parse(text: string): unknown }[];
  /** A row with null in each column. Each row of a result begins as a copy of this object, because V8 sets existing properties faster than it adds new ones. */
  readonly empty: Readonly<Record<string, unknown>>;
}

const NO_COLUMNS: RowShape = { columns: [], empty: {} };

/** The value of a parameter in the protocol of PostgreSQL: a Buffer is sent in binary format, a string in text format. */
export type SentValue = Buffer | string | null;

/** A named statement with the values of its parameters. A name has the same text on all connections. */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: SentValue[];
}

/** Returns the values as they are sent; null if only node-postgres can convert one of them, for example a date. */
export function sentValues(values: readonly unknown[]): SentValue[] | null {
  const sent: SentValue[] = [];
  for (const value of values) {
    if (value === null || value === undefined) sent.push(null);
    else if (typeof value === 'string' || Buffer.isBuffer(value)) sent.push(value);
    else if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') sent.push(String(value));
    else return null;
  }
  return sent;
}

/** SQLSTATE of the error for a statement after a failed statement of the same transaction. */
export const ABORTED = '25P02';

/** Returns the error of a statement that PostgreSQL skipped. PostgreSQL sends this error only for statements that it does not skip. */
const skipped = (): pg.DatabaseError =>
  Object.assign(new pg.DatabaseError('current transaction is aborted, commands ignored until end of transaction block', 0, 'error'), {
    code: ABORTED,
  });

/** A column in the row description of PostgreSQL. */
interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/**
 * A named statement that shares its Sync message with the other statements of a group. With one Sync per statement, as pg sends it, PostgreSQL would send
 * each result in a packet of its own, and each packet would wake this process. When a statement of the group fails, PostgreSQL skips the statements after it,
 * so a group must be part of a transaction. The class implements the interface through which pg sends queries and passes their results on, like the class
 * `Query` of pg. Protocol: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class PreparedQuery<Row> implements pg.Submittable {
  readonly name: string;
  readonly text: string;
  /** Ends the query. pg replaces the function in order to limit the time of the query. */
  callback: (error: Error | null, rows?: Row[]) => void;
  /** Whether the Sync of the group follows this statement. */
  isLast = false;
  readonly #client: pg.Client;
  readonly #values: SentValue[];
  readonly #shapes: Map<string, RowShape>;
  readonly #rows: Row[] = [];
  #shape: RowShape | undefined;
  #failure: Error | null = null;

  /**
   * @param shapes the known columns of statements of this connection, by name. PostgreSQL describes the columns of a statement when it runs first
   */
  constructor(client: pg.Client, { name, text, values }: PreparedStatement, shapes: Map<string, RowShape>, callback: PreparedQuery<Row>['callback']) {
    this.name = name;
    this.text = text;
    this.callback = callback;
    this.#client = client;
    this.#values = values;
    this.#shapes = shapes;
    this.#shape = shapes.get(name);
  }

  /** Sends the statement without a Sync. The client calls this method, and then the methods `handle…` for each message of PostgreSQL. */
  submit(connection: pg.Connection): Error | null {
    const { name, text } = this;
    if (!keepsStatements(connection)) return new Error('the connection does not keep the named statements, as pg 8 does');
    if ((connection.parsedStatements[name] ?? connection.submittedNamedStatements[name]) === undefined) {
      connection.parse({ name, text, types: [] }, true);
      connection.submittedNamedStatements[name] = text;
    }
    connection.bind({ portal: '', statement: name, values: this.#values }, true);
    if (this.#shape === undefined) connection.describe({ type: 'P', name: '' }, true);
    connection.execute({ portal: '' }, true);
    return null;
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#client.getTypeParser(dataTypeID, 'text') }));
    this.#shape = { columns, empty: Object.fromEntries(columns.map(({ name }) => [name, null])) };
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#failure !== null || this.#shape === undefined) return;
    try {
      const { columns, empty } = this.#shape;
      const row: Record<string, unknown> = { ...empty };
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i];
        const text = fields[i];
        if (column !== undefined && typeof text === 'string') row[column.name] = column.parse(text);
      }
      // The type of the rows is declared with the statement; a test compares it with the columns that PostgreSQL returns.
      this.#rows.push(row as Row);
    } catch (error) {
      this.#failure = Error.isError(error) ? error : new Error(String(error));
    }
  }

  handleCommandComplete(_message: unknown, connection: pg.Connection): void {
    this.#shapes.set(this.name, this.#shape ?? NO_COLUMNS);
    // The client continues with the next query when it receives `readyForQuery`, which PostgreSQL sends after a Sync only.
    if (!this.isLast) connection.emit('readyForQuery', { status: 'T' });
  }

  handleReadyForQuery(): void {
    if (this.#failure !== null) this.callback(this.#failure);
    else this.callback(null, this.#rows);
  }

  handleError(error: Error, connection: pg.Connection): void {
    this.callback(error);
    // PostgreSQL sends no results for the later statements of the group, so this method fails the next statement, and that one its successor. When the
    // connection is lost, pg itself fails all statements.
    if (this.isLast || !(error instanceof pg.DatabaseError)) return;
    connection.emit('readyForQuery', { status: 'E' });
    connection.emit('errorMessage', skipped());
  }
}

/** Two maps of pg from the name of a statement to its text: the statements that PostgreSQL has parsed, and the statements that pg has sent to it. */
interface Statements {
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
}

const keepsStatements = (connection: pg.Connection): connection is pg.Connection & Statements =>
  'parsedStatements' in connection && 'submittedNamedStatements' in connection;
