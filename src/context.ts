import type { Redis } from 'ioredis';
import { QUEUES } from '#jobs/queues.ts';
import { entities, eventCatalog } from './areas/registry.ts';
import type { Config } from './config.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { type App, AppStates } from './platform/app.ts';
import { openOrm } from './platform/db/orm.ts';
import { pooled } from './platform/db/sql.ts';
import { transactions } from './platform/db/transaction.ts';
import { wakeUpChannel } from './platform/events/redis-stream.ts';
import { openQueues } from './platform/jobs/queues.ts';
import { openReplies } from './platform/jobs/replies.ts';
import { type Logger, openLog } from './platform/observability/log.ts';
import { FAIL_FAST, openRedis, PATIENT } from './platform/redis/connection.ts';
import { openChain } from './platform/solana/solana.ts';
import { openStorage } from './platform/storage/open.ts';

/** How long a process waits for what it depends on, ms: then it is an error, never a hang. */
export interface Timeouts {
  /** One SQL statement. */
  readonly sqlMs: number;
  /** One Redis command. */
  readonly redisMs: number;
  /** One command of a queue: a job carries a batch of a hundred scores, so it may take longer than a read. */
  readonly queueMs: number;
}

/** Of a request; and of a job, which may read a million rows. */
const REQUEST_TIMEOUTS: Timeouts = { sqlMs: 5_000, redisMs: 1_000, queueMs: 3_000 };
export const JOB_TIMEOUTS: Timeouts = { ...REQUEST_TIMEOUTS, sqlMs: 120_000 };

/** Opens everything a process needs. Succeeds while dependencies are down: they are reconnected to, and 503 meanwhile. */
export async function openContext(config: Config, name: string, options: { clock?: Clock; log?: Logger; timeouts?: Timeouts } = {}): Promise<App> {
  const log = options.log ?? openLog(config, name);
  const timeouts = options.timeouts ?? REQUEST_TIMEOUTS;
  const orm = await openOrm(config, entities, timeouts.sqlMs);
  const connections: Redis[] = [];
  const connect = (options = PATIENT) => {
    const redis = openRedis(config, log, options);
    connections.push(redis);
    return redis;
  };
  const redis = connect({ ...FAIL_FAST, commandTimeout: timeouts.redisMs });
  const queues = openQueues(connect({ ...FAIL_FAST, enableAutoPipelining: false, commandTimeout: timeouts.queueMs }), config.redis.prefix, QUEUES);
  const replies = await openReplies(connect(), config.redis.prefix);
  const storage = openStorage(config.storage);
  const states = new AppStates();
  const app: App = {
    config,
    log,
    clock: options.clock ?? systemClock,
    orm,
    db: pooled(() => orm.em.getConnection().getNativeClient()),
    tx: transactions(orm, queues, log, () => redis.publish(wakeUpChannel(config), '1')),
    redis,
    queues,
    replies,
    chain: openChain(config),
    storage,
    events: eventCatalog,
    state: (slot) => states.get(app, slot),
    connect: () => connect(),
    async close() {
      replies.close();
      storage.close();
      await queues.close();
      for (const connection of connections) connection.disconnect();
      await orm.close(true);
    },
  };
  return app;
}
