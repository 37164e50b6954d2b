import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import { PipelinedClient } from './pipelined-client.ts';
import { ABORTED } from './prepared-query.ts';
import { type Queryable, runStatement, type Statement } from './sql.ts';

/** The connection of a transaction. Statements that are started together (`Promise.all`) share one round trip and run in the order of their start. */
export interface Connection extends Queryable {
  /** Sends the commit with the statements of this tick, unless `isWanted` returns false at the end of the tick. */
  commitWithGroup(isWanted: () => boolean): void;
  /** Returns an entity manager that works on this connection. The first call creates the manager, because few transactions need one. */
  readonly em: EntityManager;
}

/**
 * Runs `work` in a transaction on a connection of the pool. Does not use transactions of MikroORM, which took 8 % of the CPU time of a busy worker.
 * Commits when `work` resolves, and rolls back when `work` rejects. The transaction begins with the first statement of `work`.
 * @throws the error of `work`, or the error of the connection or of the commit
 */
export async function runInTransaction<T>(orm: MikroORM, work: (connection: Connection) => Promise<T>): Promise<T> {
  const client = await connect(orm);
  const release = client.release.bind(client);
  const connection = new TransactionConnection(orm, client);
  let isLost = false;
  try {
    client.beginWithNext();
    const result = await work(connection);
    await connection.flush();
    await client.query('commit');
    return result;
  } catch (error) {
    isLost = !(await rollBack(client));
    throw error;
  } finally {
    // The pool closes a lost connection and opens another one in its place.
    release(isLost);
  }
}

async function connect(orm: MikroORM): Promise<PipelinedClient & pg.PoolClient> {
  const pool = await orm.em.getConnection().getNativeClient();
  const client = await pool.connect();
  if (isPipelined(client)) return client;
  client.release();
  throw new Error('the pool of the database must be configured with PipelinedClient');
}

const isPipelined = (client: pg.PoolClient): client is PipelinedClient & pg.PoolClient => client instanceof PipelinedClient;

/** Rolls the transaction of a connection back. @returns false when the connection is lost */
async function rollBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false;
  }
}

class TransactionConnection implements Connection {
  readonly #orm: MikroORM;
  readonly #client: PipelinedClient & pg.PoolClient;
  #failure: unknown;
  #em: EntityManager | null = null;

  constructor(orm: MikroORM, client: PipelinedClient & pg.PoolClient) {
    this.#orm = orm;
    this.#client = client;
  }

  async query<Row>(statement: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      return await runStatement(this.#client, statement, values);
    } catch (error) {
      if (!isAborted(error)) this.#failure = error;
      throw this.#failure ?? error;
    }
  }

  commitWithGroup(isWanted: () => boolean): void {
    this.#client.commitWithGroup(isWanted);
  }

  get em(): EntityManager {
    this.#em ??= managerOn(this.#orm, this.#client);
    return this.#em;
  }

  /** Writes the changed entities. */
  async flush(): Promise<void> {
    await this.#em?.flush();
  }
}

/**
 * Returns whether PostgreSQL refused a statement because an earlier statement of the transaction failed. The error of the earlier statement names the cause,
 * so `query` throws that error in place of the refusal.
 */
const isAborted = (error: unknown): boolean => Error.isError(error) && 'code' in error && error.code === ABORTED;

/** Returns an entity manager whose queries run on a client that has a transaction open. */
function managerOn(orm: MikroORM, client: pg.PoolClient): EntityManager {
  // Kysely releases the client after each query, but the transaction keeps the client. The pool sets a new `release` function for each use of the client.
  client.release = () => undefined;
  const pool = { connect: async () => client, end: async () => undefined, options: {} };
  const em = orm.em.fork({ clear: true });
  em.setTransactionContext(new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) }));
  return em;
}
