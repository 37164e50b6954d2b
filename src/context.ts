import { QUEUES } from '#jobs/queues.ts';
import { eventCatalog, gauges, managed } from './areas/registry.ts';
import type { Config } from './config.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { type App, AppStates } from './platform/app.ts';
import { openOrm } from './platform/db/orm.ts';
import { pooled } from './platform/db/sql.ts';
import { openReads } from './platform/db/standby.ts';
import { transactions } from './platform/db/transaction.ts';
import { wakeUpChannel } from './platform/events/redis-stream.ts';
import { openQueues } from './platform/jobs/queues.ts';
import { openReplies } from './platform/jobs/replies.ts';
import { type Logger, openLog } from './platform/observability/log.ts';
import { FAIL_FAST, openRedis, PATIENT, type RedisClient } from './platform/redis/connection.ts';
import { openChain } from './platform/solana/solana.ts';
import { openStorage } from './platform/storage/open.ts';

/** Timeouts of operations on dependencies, ms. After its timeout an operation fails, so that no request hangs. */
export interface Timeouts {
  /** Timeout of one SQL statement. */
  readonly sqlMs: number;
  /** Timeout of one Redis command. */
  readonly redisMs: number;
  /** Timeout of one queue command. It is longer than `redisMs`, because one job may carry a hundred scores. */
  readonly queueMs: number;
}

/** Timeouts of API processes. Workers use `JOB_TIMEOUTS` with more time for SQL, because a job may read a million rows. */
const REQUEST_TIMEOUTS: Timeouts = { sqlMs: 5_000, redisMs: 1_000, queueMs: 3_000 };
export const JOB_TIMEOUTS: Timeouts = { ...REQUEST_TIMEOUTS, sqlMs: 120_000 };

/**
 * Opens every dependency of a process. It succeeds even while dependencies are down: connections are retried, and requests get a 503 until the
 * connections are open.
 * @param name type of the process, which its log lines contain
 */
export async function openContext(config: Config, name: string, options: { clock?: Clock; log?: Logger; timeouts?: Timeouts } = {}): Promise<App> {
  const log = options.log ?? openLog(config, name);
  const timeouts = options.timeouts ?? REQUEST_TIMEOUTS;
  const orm = await openOrm(config, managed, timeouts.sqlMs);
  const connections: RedisClient[] = [];
  const connect = (options = PATIENT) => {
    const redis = openRedis(config, log, options);
    connections.push(redis);
    return redis;
  };
  const redis = connect({ ...FAIL_FAST, commandTimeout: timeouts.redisMs });
  const queues = openQueues(connect({ ...FAIL_FAST, enableAutoPipelining: false, commandTimeout: timeouts.queueMs }), config.redis.prefix, QUEUES);
  const replies = await openReplies(connect(), config.redis.prefix);
  const storage = openStorage(config.storage);
  const pool = () => orm.em.getConnection().getNativeClient();
  const db = pooled(pool);
  const reads = openReads(config, db, pool, log);
  const states = new AppStates();
  const app: App = {
    config,
    log,
    clock: options.clock ?? systemClock(config.clockOffsetMs),
    orm,
    db,
    reads,
    tx: transactions(orm, queues, log, () => redis.publish(wakeUpChannel(config), '1')),
    redis,
    queues,
    replies,
    chain: openChain(config, log),
    storage,
    get events() {
      return events;
    },
    gauges,
    state: (slot) => states.get(app, slot),
    connect: () => connect(),
    async close() {
      await states.close();
      replies.close();
      storage.close();
      await reads.close();
      await queues.close();
      for (const connection of connections) connection.disconnect();
      await orm.close(true);
    },
  };
  // Created after `app`, because event types use `app` to read boards and the database.
  const events = eventCatalog(app);
  return app;
}
