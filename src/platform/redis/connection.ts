import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { Config } from '#config';
import type { Logger } from '#platform/observability/log.ts';
import { countCommandFailure, countReconnect, observeCommand } from '#platform/observability/metrics/metrics.ts';
import type { RedisTarget } from './config.ts';
import { connectorTo } from './sentinel-connector.ts';
import { Sentinels } from './sentinels.ts';

/** A connection to one Redis server, to the primary that Sentinels name, or to all nodes of a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * Returns the delay before a reconnect, ms. There is no maximum number of reconnects. The jitter keeps many processes from reconnecting at the same
 * moment.
 */
const retryStrategy = (tries: number) => Math.min(50 * 2 ** Math.min(tries, 5), 1_000) * (0.5 + Math.random());

/** Options for a connection that serves requests: while Redis is down or slow, a command fails soon. The caller also sets `commandTimeout`. */
export const FAIL_FAST: RedisOptions = { enableOfflineQueue: false, maxRetriesPerRequest: 0, enableAutoPipelining: true };

/** Options for a connection that subscribes or sends blocking commands: its commands wait for Redis without a time limit. */
export const PATIENT: RedisOptions = { maxRetriesPerRequest: null };

type SendCommand = Redis['sendCommand'];
type Command = Parameters<SendCommand>[0];

/**
 * Measures the commands of one connection, and rejects a command that gets no response within the timeout. One timer serves all commands, because a
 * timer per command, as in ioredis, costs more than most commands.
 */
class CommandTimer {
  readonly #timeoutMs: number;
  /** In-flight commands, oldest first, each with the time when it was sent. */
  readonly #pending = new Map<Command, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Watches a command until it is settled. A cluster sends a command again after a redirection, which does not extend the timeout. */
  watch(command: Command): void {
    if (this.#pending.has(command)) return;
    const sent = performance.now();
    this.#pending.set(command, sent);
    this.#timer ??= this.#startTimer(this.#timeoutMs);
    command.promise.then(
      () => {
        this.#pending.delete(command);
        observeCommand(command.name, sent);
      },
      (error: unknown) => {
        this.#pending.delete(command);
        countCommandFailure(error);
      },
    );
  }

  #startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = null;
      for (const [command, sent] of this.#pending) {
        const left = sent + this.#timeoutMs - performance.now();
        if (left > 0) {
          this.#timer = this.#startTimer(left);
          break;
        }
        this.#pending.delete(command);
        command.reject(new Error('Command timed out'));
        // A cluster sends a command again when `reject` is called with the error of a lost connection. After the timeout it must not.
        command.reject = () => undefined;
      }
    }, ms).unref();
  }
}

/** A connection to one server with a timeout for commands. Precondition: the connection sends no blocking command. */
class TimedRedis extends Redis {
  readonly #commands: CommandTimer;

  constructor(url: string, options: RedisOptions, timeoutMs: number) {
    super(url, options);
    this.#commands = new CommandTimer(timeoutMs);
  }

  override sendCommand(...[command, stream]: Parameters<SendCommand>): unknown {
    this.#commands.watch(command);
    return super.sendCommand(command, stream);
  }
}

/** A connection to a cluster with a timeout for commands. Precondition: the connection sends no blocking command. */
class TimedCluster extends Cluster {
  readonly #commands: CommandTimer;

  constructor(nodes: ConstructorParameters<typeof Cluster>[0], options: ClusterOptions, timeoutMs: number) {
    super(nodes, options);
    this.#commands = new CommandTimer(timeoutMs);
  }

  override sendCommand(...[command, stream, node]: Parameters<Cluster['sendCommand']>): unknown {
    this.#commands.watch(command);
    return super.sendCommand(command, stream, node);
  }
}

/** Interval at which a connection to a cluster reads which node has which slots, ms, because a node that hangs reports no failure. */
const SLOTS_REFRESH_MS = 3_000;

/** Opens a connection to a target. The caller closes it. */
export function connect(target: RedisTarget, { commandTimeout, ...options }: RedisOptions): RedisClient {
  if (target.kind === 'cluster') {
    const nodes = [...target.nodes];
    const all = clusterOptions(target, options);
    return commandTimeout === undefined ? new Cluster(nodes, all) : new TimedCluster(nodes, all, commandTimeout);
  }
  // With Sentinels, the URL sets nothing: the connector finds the primary.
  const [url, all] = target.kind === 'server' ? [target.url, options] : ['redis://', { ...options, ...sentinelOptions(target) }];
  return commandTimeout === undefined ? new Redis(url, all) : new TimedRedis(url, all, commandTimeout);
}

/** The Sentinels of each target. All connections of a process share them. */
const groups = new WeakMap<RedisTarget, Sentinels>();

function sentinelOptions(target: RedisTarget & { kind: 'sentinel' }): RedisOptions {
  const { db, username, password, tls } = target;
  const sentinels = groups.get(target) ?? new Sentinels(target);
  groups.set(target, sentinels);
  return { db, username, password, ...(tls ? { tls: {} } : {}), Connector: connectorTo(sentinels) };
}

function clusterOptions(target: RedisTarget & { kind: 'cluster' }, options: RedisOptions): ClusterOptions {
  const { enableOfflineQueue = true, retryStrategy, connectTimeout } = options;
  const { username, password, tls } = target;
  return {
    enableOfflineQueue,
    ...(retryStrategy ? { clusterRetryStrategy: retryStrategy } : {}),
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // A pipeline is redirected only as a whole. An automatic pipeline has keys of many slots, so while a slot moves, its commands would fail.
    enableAutoPipelining: false,
    // A certificate names hosts, not their addresses.
    ...(tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
    redisOptions: { username, password, connectTimeout, maxRetriesPerRequest: null, ...(tls ? { tls: {} } : {}) },
  };
}

/** Opens a connection that reconnects without end, and logs when Redis becomes unreachable. The caller closes it. */
export function openRedis(config: Config, log: Logger, options: RedisOptions): RedisClient {
  const redis = connect(config.redis.target, { retryStrategy, connectTimeout: 2_000, ...options });
  redis.on('reconnecting', countReconnect);
  // A connection to a cluster stays open when it loses one of the nodes.
  redis.on('-node', countReconnect);
  let down = false;
  redis.on('error', (error) => {
    if (!down) log.warn({ err: error }, 'Redis is unreachable; the connection is retried');
    down = true;
  });
  redis.on('ready', () => {
    if (down) log.info('Redis is reachable again');
    down = false;
  });
  return redis;
}

/** Events of a connection after which Redis may lack its latest writes: it connected again, or a cluster lost a node. */
export const FAILOVER_EVENTS = ['ready', '-node'] as const;

/** Waits until a connection is ready. Failed attempts to connect do not end the wait. */
export async function untilReady(redis: RedisClient): Promise<void> {
  if (redis.status !== 'ready') await new Promise<void>((resolve) => redis.once('ready', resolve));
}
