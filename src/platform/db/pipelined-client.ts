import pg from 'pg';
import { PreparedQuery, type PreparedStatement, type RowShape } from './prepared-query.ts';
import { findPrimary, findStandby, KnownServer } from './servers.ts';

/** A pg client that runs several statements in one round trip, together with the beginning or the commit of their transaction. */
export class PipelinedClient extends pg.Client {
  /** Whether the transaction begins with the next statement. */
  #beginsNext = false;
  /** The beginning of a transaction on its own, while it is in flight; other statements wait for it. */
  #beginning: Promise<unknown> | null = null;
  /** Error of a transaction that could not begin; the connection is closed then. */
  #beginFailure: unknown = null;
  /** The outcome of the commit that was sent with the last statements; null when none was sent. */
  #committing: Promise<unknown> | null = null;
  /** Returns whether the open group ends with the commit; null when nobody asked for it. */
  #commits: (() => boolean) | null = null;
  /** The columns of the statements that ran on this connection, by name. */
  readonly #shapes = new Map<string, RowShape>();
  /** The latest statement of the group that is being sent; null when no group is open. */
  #latest: { isLast: boolean } | null = null;

  constructor(config?: pg.ClientConfig) {
    super(config);
    // An `error` event without a listener ends the process. The pool and MikroORM add their listeners a moment after the connection is established,
    // and the server may close it in this moment. The error needs no action: it also fails the queries, and the pool drops the client.
    this.on('error', () => undefined);
    this.on('notice', (notice) => {
      if ('routine' in notice && notice.routine === UNREPLICATED) this.fail('08007', UNREPLICATED_MESSAGE);
    });
  }

  /** Fails the pending queries and closes the connection. @param code SQLSTATE of the error */
  fail(code: string, message: string): void {
    this.connection.emit('error', Object.assign(new Error(message), { code }));
    this.connection.stream.destroy();
  }

  #endAfterTimeout(error: unknown): void {
    if (Error.isError(error) && error.message === 'Query read timeout') this.fail('08006', error.message);
  }

  /**
   * Begins a transaction with its next statement. A named statement shares the round trip of the beginning, because PostgreSQL skips the statement if the
   * transaction cannot begin. Another statement waits until the transaction has begun, because otherwise it could run outside a transaction.
   */
  beginWithNext(): void {
    this.#beginsNext = true;
  }

  /**
   * Runs a named statement. The statements of one tick of the event loop are a group, which is sent with one system call and one Sync. Precondition: a
   * transaction is open, or begins with this statement.
   */
  async run<Row>(statement: PreparedStatement): Promise<Row[]> {
    if (this.#committing !== null) throw new Error('the transaction is committed, it runs no further statement');
    if (this.#beginning !== null) await this.#beginning;
    if (this.#latest === null) this.#openGroup();
    if (this.#beginsNext) {
      this.#beginsNext = false;
      // Without a transaction no further statement may run, so the connection is closed.
      this.#send({ name: 'begin', text: 'begin', values: [] }).catch((error: unknown) => {
        this.#beginFailure = error;
        this.connection.stream.destroy();
      });
    }
    try {
      return await this.#send<Row>(statement);
    } catch (failure) {
      // PostgreSQL skips this statement when the transaction could not begin. Only the error of the beginning says why.
      const error = this.#beginFailure ?? failure;
      this.#endAfterTimeout(error);
      // The stack of the error leads to the socket. The new one leads to the caller.
      if (Error.isError(error)) Error.captureStackTrace(error);
      throw error;
    }
  }

  /**
   * Sends the commit with the statements of this tick. If one of them fails, PostgreSQL skips the commit. The query `commit` then returns the outcome. If
   * these statements cannot share a group, that query sends the commit.
   * @param isWanted called at the end of the tick; the commit is not sent if it returns false
   */
  commitWithGroup(isWanted: () => boolean): void {
    this.#commits = isWanted;
  }

  #sendCommit(): void {
    this.#committing = this.#send({ name: 'commit', text: 'commit', values: [] });
    this.#committing.catch((error: unknown) => this.#endAfterTimeout(error));
  }

  /** Sends a statement as part of the open group. */
  #send<Row>(statement: PreparedStatement): Promise<Row[]> {
    return new Promise<Row[]>((resolve, reject) => {
      const callback = (error: Error | null, rows: Row[] = []) => (error ? reject(error) : resolve(rows));
      const query = new PreparedQuery<Row>(this, statement, this.#shapes, callback);
      this.#latest = query;
      super.query(query);
    });
  }

  /** Collects the messages until the end of the tick, and then closes the group. */
  #openGroup(): void {
    const { stream } = this.connection;
    stream.cork();
    process.nextTick(() => {
      if (this.#latest !== null && this.#commits?.()) this.#sendCommit();
      this.#closeGroup();
      stream.uncork();
    });
  }

  /** Sends the Sync of the open group. */
  #closeGroup(): void {
    this.#commits = null;
    if (this.#latest === null) return;
    this.#latest.isLast = true;
    this.#latest = null;
    this.connection.sync();
  }

  #beginAlone(): void {
    this.#beginsNext = false;
    this.#beginning = super.query('begin').finally(() => {
      this.#beginning = null;
    });
    // Without a transaction no further statement may run, so the connection is closed.
    this.#beginning.catch(() => void this.connection.stream.destroy());
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg overloads `query` a dozen ways; this method forwards all of them.
  override query(...args: any[]): any {
    const [text] = args;
    if (this.#committing !== null) {
      const outcome = this.#committing.then(() => ({ command: 'COMMIT', rowCount: null, rows: [] }));
      if (text === 'commit') return outcome.finally(() => (this.#committing = null));
      outcome.catch(() => undefined);
      if (text !== 'rollback') return Promise.reject(new Error('the transaction is committed, it runs no further query'));
      this.#committing = null;
    }
    // A transaction without statements sends nothing.
    if (this.#beginsNext && (text === 'commit' || text === 'rollback')) {
      this.#beginsNext = false;
      return Promise.resolve({ command: text.toUpperCase(), rowCount: null, rows: [] });
    }
    if (this.#beginsNext) this.#beginAlone();
    if (this.#beginning !== null) return this.#beginning.then(() => this.query(...args));
    this.#closeGroup();
    // biome-ignore lint/suspicious/noExplicitAny: the arguments are forwarded unchanged to an overloaded method.
    const result = (super.query as (...all: any[]) => any).apply(this, args);
    // The server is still busy with the query, so the connection is of no use. A commit that waits for a standby ends in no other way.
    if (result instanceof Promise) result.catch((error: unknown) => this.#endAfterTimeout(error));
    return result;
  }
}

/**
 * The routine of PostgreSQL that warns about a commit that no standby has confirmed, because the wait for synchronous replication was cancelled.
 * PostgreSQL reports such a commit as successful, although a failover would lose it. So the client reports its outcome as unknown instead.
 */
const UNREPLICATED = 'SyncRepWaitForLSN';
const UNREPLICATED_MESSAGE = 'no standby confirmed the commit, so a failover may lose it';

/** The callback of `connect`: the pool passes it. */
type Connected = (...result: [error: Error] | [error: null, client: pg.Client]) => void;

/** Returns the class of clients that connect to the server of a URL that accepts writes. */
export const primaryClient = (url: string): typeof PipelinedClient => clientOf(new KnownServer(() => findPrimary(url)), 'off');

/** Returns the class of clients that connect to a standby of a URL. */
export const standbyClient = (url: string): typeof PipelinedClient => clientOf(new KnownServer(() => findStandby(url)), 'on');

/**
 * Returns the class of clients that connect to a known server. After a connection failed or ended, the server is searched again. A client never stays connected
 * to a server with the other role: PostgreSQL 14 and newer report `in_hot_standby` when a session begins and when a standby is promoted.
 */
function clientOf(server: KnownServer, inHotStandby: 'on' | 'off'): typeof PipelinedClient {
  /** The connected clients, and the URL of the server of each. */
  const connected = new Map<PipelinedClient, string>();
  return class extends PipelinedClient {
    constructor(config?: pg.ClientConfig) {
      super(config);
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
        if (parameterName !== 'in_hot_standby' || parameterValue === inHotStandby) return;
        this.fail('25006', inHotStandby === 'off' ? 'the PostgreSQL server is a standby' : 'the PostgreSQL server is no standby');
      });
    }

    override fail(code: string, message: string): void {
      server.forget();
      super.fail(code, message);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connecting = this.#connect();
      if (!callback) return connecting;
      connecting.then(
        () => callback(null, this),
        (error: Error) => callback(error),
      );
      return undefined;
    }

    async #connect(): Promise<pg.Client> {
      const url = await server.url();
      const { host, port } = new pg.Client({ connectionString: url });
      Object.assign(this, { host, port });
      try {
        const client = await super.connect();
        // While this client connected to the old primary, another client may have found the new one.
        if (!server.isLatest(url)) {
          this.connection.stream.destroy();
          throw Object.assign(new Error('another PostgreSQL server has the role of this one'), { code: '57P01' });
        }
        connected.set(this, url);
        this.once('end', () => {
          connected.delete(this);
          server.forget();
        });
        // An old primary that was not stopped returns old data, for example sessions that have ended since.
        for (const [other, its] of connected) if (its !== url) other.fail('57P01', 'another PostgreSQL server has the role of this one');
        return client;
      } catch (error) {
        server.forget();
        throw error;
      }
    }
  };
}
