import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { Job } from '../jobs/job.ts';
import { connectionOf, type Queryable, statement } from './db/sql.ts';
import type { EventType } from './events/event.ts';
import type { Logger } from './log.ts';
import type { Queues } from './queues.ts';

/** A transaction: the only way to write. What it rings and emits follows from its commit, and from nothing else. */
export interface Tx extends Queryable {
  readonly em: EntityManager;
  /** Asks for a job once this transaction has committed. */
  ring<Payload extends z.ZodType>(job: Job<string, Payload>, payload: z.input<Payload>): void;
  /** Reports what happened, in the same commit. `wallet`: only that wallet's streams get it. */
  emit<Payload extends z.ZodType>(event: EventType<Payload>, payload: z.input<Payload>, wallet?: string): void;
}

export type Transact = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

const insertOutbox = statement<{ id: string }>(
  'insert_outbox',
  `insert into outbox (type, wallet, payload)
   select e.type, e.wallet, e.payload from unnest($1::text[], $2::text[], $3::jsonb[]) with ordinality as e(type, wallet, payload, n) order by n`,
);

/**
 * Makes `app.tx`.
 * @param rung called after a commit that emitted something, to wake the publisher; may fail without harm
 */
export function transactions(orm: MikroORM, queues: Queues, log: Logger, rung: () => Promise<unknown>): Transact {
  return async (work) => {
    const jobs: { job: Job; payload: unknown }[] = [];
    const events: { type: string; wallet: string | null; payload: string }[] = [];
    const result = await orm.em.fork({ clear: true }).transactional(async (inner) => {
      const connection = await connectionOf(inner.getKysely<unknown>());
      const tx: Tx = {
        em: inner,
        query: connection.query,
        ring: (job, payload) => void jobs.push({ job, payload: job.payload.parse(payload) }),
        emit: (event, payload, wallet) =>
          void events.push({ type: event.type, wallet: wallet ?? null, payload: JSON.stringify(event.payload.parse(payload)) }),
      };
      const value = await work(tx);
      if (events.length > 0) {
        await tx.query(insertOutbox, [events.map((e) => e.type), events.map((e) => e.wallet), events.map((e) => e.payload)]);
      }
      return value;
    });
    // The commit stands whatever happens to Redis now: a sweep rings again, the publisher looks by itself.
    const unheard = (err: unknown) => log.warn({ err }, 'committed, but the bell did not ring');
    if (events.length > 0) void rung().catch(unheard);
    if (jobs.length > 0) await queues.add(jobs).catch(unheard);
    return result;
  };
}
