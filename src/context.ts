import type { MikroORM } from '@mikro-orm/postgresql';
import type { Redis } from 'ioredis';
import type { Config } from './config.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { openOrm } from './platform/db/orm.ts';
import { pooled, type Queryable } from './platform/db/sql.ts';
import { type Transact, transactions } from './platform/db/transaction.ts';
import { openQueues, type Queues } from './platform/jobs/queues.ts';
import { openReplies, type Replies } from './platform/jobs/replies.ts';
import { type Logger, openLog } from './platform/observability/log.ts';
import { FAIL_FAST, openRedis, PATIENT } from './platform/redis/connection.ts';
import { type Chain, openChain } from './platform/solana/solana.ts';
import { openStorage } from './platform/storage/open.ts';
import type { Storage } from './platform/storage/storage.ts';

/** What every request and every job works with. The only wiring of the service. */
export interface App {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly orm: MikroORM;
  /** Reads outside a transaction. */
  readonly db: Queryable;
  /** Writes. */
  readonly tx: Transact;
  /** Commands that fail within a second when Redis is down. */
  readonly redis: Redis;
  readonly queues: Queues;
  readonly replies: Replies;
  readonly chain: Chain;
  /** Where media lie. */
  readonly storage: Storage;
  /** A further connection, for subscribing and blocking; closed with the rest. */
  connect(): Redis;
  close(): Promise<void>;
}

/** The key of the channel that wakes the publisher of events. */
export const eventsBell = (config: Config) => `${config.redis.prefix}:events:bell`;

/** How long a process waits for what it depends on, ms: then it is an error, never a hang. */
export interface Patience {
  /** One SQL statement. */
  readonly sqlMs: number;
  /** One Redis command. */
  readonly redisMs: number;
  /** One command of a queue: a job carries a batch of a hundred scores, so it may take longer than a read. */
  readonly queueMs: number;
}

/** Of a request; and of a job, which may read a million rows. */
const REQUEST_PATIENCE: Patience = { sqlMs: 5_000, redisMs: 1_000, queueMs: 3_000 };
export const JOB_PATIENCE: Patience = { ...REQUEST_PATIENCE, sqlMs: 120_000 };

/** Opens everything a process needs. Succeeds while dependencies are down: they are reconnected to, and 503 meanwhile. */
export async function openContext(config: Config, name: string, options: { clock?: Clock; log?: Logger; patience?: Patience } = {}): Promise<App> {
  const log = options.log ?? openLog(config, name);
  const patience = options.patience ?? REQUEST_PATIENCE;
  const orm = await openOrm(config, patience.sqlMs);
  const connections: Redis[] = [];
  const connect = (options = PATIENT) => {
    const redis = openRedis(config, log, options);
    connections.push(redis);
    return redis;
  };
  const redis = connect({ ...FAIL_FAST, commandTimeout: patience.redisMs });
  const queues = openQueues(connect({ ...FAIL_FAST, enableAutoPipelining: false, commandTimeout: patience.queueMs }), config.redis.prefix);
  const replies = await openReplies(connect(), config.redis.prefix);
  const storage = openStorage(config.storage);
  return {
    config,
    log,
    clock: options.clock ?? systemClock,
    orm,
    db: pooled(() => orm.em.getConnection().getNativeClient()),
    tx: transactions(orm, queues, log, () => redis.publish(eventsBell(config), '1')),
    redis,
    queues,
    replies,
    chain: openChain(config),
    storage,
    connect: () => connect(),
    async close() {
      replies.close();
      storage.close();
      await queues.close();
      for (const connection of connections) connection.disconnect();
      await orm.close(true);
    },
  };
}
