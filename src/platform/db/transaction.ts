import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { EventType } from '#platform/events/event.ts';
import type { Job } from '#platform/jobs/job.ts';
import type { Queues } from '#platform/jobs/queues.ts';
import type { Logger } from '#platform/observability/log.ts';
import { observeTransaction } from '#platform/observability/metrics/metrics.ts';
import { traceTransaction } from '#platform/observability/tracing/tracing.ts';
import { connectionOf, type Queryable, type Statement, statement } from './sql.ts';

/** A transaction: the only way to write. What it rings and emits follows from its commit, and from nothing else. */
export interface Tx extends Queryable {
  readonly em: EntityManager;
  /** Asks for a job once this transaction has committed. */
  enqueue<Payload extends z.ZodType>(job: Job<string, Payload>, payload: z.input<Payload>): void;
  /** Reports what happened, in the same commit. `wallet`: only that wallet's streams get it. */
  emit<Payload extends z.ZodType>(event: EventType<Payload>, payload: z.input<Payload>, wallet?: string): void;
  /** Reports many of one kind in one statement: to everybody, or each to the wallet of the same place. */
  emitAll<Payload extends z.ZodType>(event: EventType<Payload>, payloads: readonly z.input<Payload>[], wallets?: readonly string[]): void;
}

export type RunTransaction = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

const insertOutbox = statement('insert_outbox', 'insert into outbox (type, wallet, payload) values ($1, $2, $3)');
const insertOutboxAll = statement(
  'insert_outbox_all',
  'insert into outbox (type, payload, wallet) select $1, p, w from unnest($2::jsonb[], $3::text[]) with ordinality as u(p, w, n) order by n',
);

/**
 * Makes `app.tx`.
 * @param rung called after a commit that emitted something, to wake the publisher; may fail without harm
 */
export function transactions(orm: MikroORM, queues: Queues, log: Logger, rung: () => Promise<unknown>): RunTransaction {
  return async (work) => {
    const jobs: { job: Job; payload: unknown }[] = [];
    let emitted = false;
    let leave = () => {};
    const inside = async (inner: EntityManager) => {
      const connection = await connectionOf(inner.getKysely<unknown>());
      leave = connection.leave;
      const written: Promise<unknown>[] = [];
      // Sent at once, with whatever else is on its way, and waited for before the commit.
      const write = (insert: Statement<unknown>, values: readonly unknown[]) => {
        emitted = true;
        const writing = connection.query(insert, values);
        writing.catch(() => undefined);
        written.push(writing);
      };
      const tx: Tx = {
        em: inner,
        query: connection.query,
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
    const run = () => orm.em.fork({ clear: true }).transactional(inside);
    const result = await observeTransaction(() => traceTransaction(run)).finally(() => leave());
    // The commit stands whatever happens to Redis now: a sweep rings again, the publisher looks by itself.
    const unheard = (err: unknown) => log.warn({ err }, 'committed, but the bell did not ring');
    if (emitted) void rung().catch(unheard);
    if (jobs.length > 0) await queues.add(jobs).catch(unheard);
    return result;
  };
}
