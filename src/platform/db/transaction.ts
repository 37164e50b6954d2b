import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { EventType } from '#platform/events/event.ts';
import type { Job } from '#platform/jobs/job.ts';
import type { Queues } from '#platform/jobs/queues.ts';
import type { Logger } from '#platform/observability/log.ts';
import { observeTransaction } from '#platform/observability/metrics/metrics.ts';
import { traceTransaction } from '#platform/observability/tracing/tracing.ts';
import { type Connection, runInTransaction } from './connection.ts';
import { explainMissingMonth } from './partitions.ts';
import { pooled, type Queryable, type Statement, statement } from './sql.ts';

/**
 * A database transaction. Every write of the service runs in a transaction, which begins with its first statement. Enqueued jobs and emitted events take
 * effect only if the transaction commits.
 */
export interface Tx extends Queryable {
  readonly em: EntityManager;
  /**
   * Runs the last statements of the transaction, and commits it in the same round trip. If one of them fails, the transaction is rolled back. `start` starts
   * all of them before its first `await`; the transaction runs no statement afterwards. An error after the statements does not undo the commit, so the
   * caller must be able to repeat the work.
   */
  last<T>(start: () => Promise<T>): Promise<T>;
  /** Enqueues a job right after the commit of the transaction. */
  enqueue<Payload extends z.ZodType>(job: Job<string, Payload>, payload: z.input<Payload>): void;
  /**
   * Writes an event to the outbox, as part of the transaction.
   * @param wallet the wallet whose streams receive the event; without a wallet, all streams receive the event
   */
  emit<Payload extends z.ZodType>(event: EventType<Payload>, payload: z.input<Payload>, wallet?: string): void;
  /**
   * Writes many events of one type in one statement.
   * @param wallets the receiving wallet of each payload, at the same index; without wallets, all streams receive all events
   */
  emitAll<Payload extends z.ZodType>(event: EventType<Payload>, payloads: readonly z.input<Payload>[], wallets?: readonly string[]): void;
}

export type RunTransaction = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

const insertOutbox = statement('insert_outbox', 'insert into outbox (type, wallet, payload) values ($1, $2, $3)');
const insertOutboxAll = statement(
  'insert_outbox_all',
  'insert into outbox (type, payload, wallet) select $1, p, w from unnest($2::json[], $3::text[]) with ordinality as u(p, w, n) order by n',
);

/**
 * Creates `app.tx`.
 * @param wakePublisher the function that wakes the publisher (src/platform/events) after a commit that emitted events; when the function fails, the
 * publisher finds the events at its next poll of the outbox
 */
export function transactions(orm: MikroORM, queues: Queues, log: Logger, wakePublisher: () => Promise<unknown>): RunTransaction {
  const db = pooled(() => orm.em.getConnection().getNativeClient());
  return async (work) => {
    const jobs: { job: Job; payload: unknown }[] = [];
    let emitted = false;
    const inside = async (connection: Connection) => {
      const written: Promise<unknown>[] = [];
      // Sends the insert at once, so that it shares one round trip with other statements. `written` is awaited before the commit.
      const write = (insert: Statement<unknown>, values: readonly unknown[]) => {
        emitted = true;
        const writing = connection.query(insert, values);
        writing.catch(() => undefined);
        written.push(writing);
      };
      const tx: Tx = {
        get em() {
          return connection.em;
        },
        query: (statement, values) => connection.query(statement, values),
        async last(start) {
          // From here on, this code runs in a microtask. If a statement cannot be sent, `result` fails before the tick ends, and nothing is committed.
          await undefined;
          const result = start();
          let failed = false;
          Promise.all([result, ...written]).catch(() => {
            failed = true;
          });
          connection.commitWithGroup(() => !failed);
          return await result;
        },
        enqueue: (job, payload) => void jobs.push({ job, payload: job.payload.parse(payload) }),
        emit: (event, payload, wallet) => write(insertOutbox, [event.type, wallet ?? null, JSON.stringify(event.payload.parse(payload))]),
        emitAll(event, payloads, wallets = []) {
          const texts = payloads.map((payload) => JSON.stringify(event.payload.parse(payload)));
          if (texts.length > 0) write(insertOutboxAll, [event.type, texts, wallets]);
        },
      };
      const value = await work(tx);
      await Promise.all(written);
      return value;
    };
    const run = () => runInTransaction(orm, inside);
    const result = await observeTransaction(() => traceTransaction(run)).catch(async (error: unknown) => {
      throw await explainMissingMonth(db, log, error);
    });
    // A failure of Redis does not undo the commit: a sweep enqueues the jobs again, and the publisher polls the outbox.
    const logFailure = (err: unknown) =>
      log.warn(
        { err },
        'a transaction is committed, but Redis did not accept its jobs or its wake-up message; a sweep or the next poll repeats them',
      );
    if (emitted) wakePublisher().catch(logFailure);
    if (jobs.length > 0) await queues.add(jobs).catch(logFailure);
    return result;
  };
}
