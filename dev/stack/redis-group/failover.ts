import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from '../redis.ts';
import { PRIMARY_NAME, type RedisGroup, startRedisGroup } from './group.ts';
import type { RedisServerProcess } from './server.ts';

/** Maximum time of a failover, and of the return of a server until it replicates, ms. It is long, because tests share their machine. */
const WHOLE_WITHIN_MS = 180_000;
const POLL_MS = 100;

/** What a server says about itself. */
interface Role {
  readonly server: RedisServerProcess;
  readonly isPrimary: boolean;
  /** Number of replicas that receive the writes of the server. */
  readonly replicas: number;
}

/** The primary as a Sentinel sees it. */
interface SentinelView {
  readonly port: number;
  /** `master` for a primary without a failure or a failover in progress. */
  readonly flags: string;
  /** Number that increases with each failover. */
  readonly epoch: number;
}

/**
 * Starts a primary with two replicas and three Sentinels. `kill` kills the primary, as soon as both replicas replicate from it. `restart` waits until
 * another server is the primary, starts the killed server as its replica, and waits until both replicas replicate. `restart({ empty: true })` waits for the
 * end of the failover too, then kills all servers and starts them without data.
 * @param folder used by these servers only
 */
export async function startFailoverRedis(folder: string): Promise<Redis> {
  return new SentinelRedis(await startRedisGroup('sentinel', folder));
}

class SentinelRedis implements Redis {
  readonly name = 'redis sentinel';
  readonly died = new Promise<string>(() => {});
  readonly url: string;
  readonly #group: RedisGroup;
  #killed: RedisServerProcess | undefined;

  constructor(group: RedisGroup) {
    this.#group = group;
    this.url = group.url;
  }

  /** The id of the first server, which may be the primary or a replica. */
  get pid(): number {
    return this.#group.servers[0]?.pid ?? 0;
  }

  async kill(): Promise<void> {
    this.#killed = await this.#untilWhole();
    await this.#killed.kill();
  }

  async restart({ empty }: { readonly empty: boolean }): Promise<void> {
    const killed = this.#killed ?? (await this.#untilWhole());
    this.#killed = undefined;
    if (empty) await this.#startEmpty(await this.#untilAgreed());
    else {
      await killed.kill();
      await this.#until('no replica was promoted', async () => {
        const roles = await this.#roles();
        return roles.some(({ server, isPrimary }) => isPrimary && server !== killed) ? true : undefined;
      });
      await killed.start();
    }
    await this.#untilWhole();
  }

  async failovers(): Promise<number> {
    const [first] = await this.#sentinelViews();
    return first?.epoch ?? 0;
  }

  async stop(): Promise<void> {
    await this.#group.stop();
  }

  /**
   * Kills all servers, then starts them without data.
   * @param primary the server that all Sentinels name, because they would replace another primary only after tens of seconds
   */
  async #startEmpty(primary: RedisServerProcess): Promise<void> {
    const { servers } = this.#group;
    await Promise.all(servers.map((server) => server.kill()));
    await primary.start();
    await command(primary, ['REPLICAOF', 'NO', 'ONE']);
    for (const server of servers) {
      if (server === primary) continue;
      await server.start();
      await command(server, ['REPLICAOF', '127.0.0.1', String(primary.port)]);
    }
  }

  /** Waits until one server is the primary and all others replicate from it. @returns the primary */
  async #untilWhole(): Promise<RedisServerProcess> {
    return await this.#until('the replicas do not replicate from one primary', async () => {
      const roles = await this.#roles();
      const primaries = roles.filter(({ isPrimary }) => isPrimary);
      const isWhole = roles.length === this.#group.servers.length && primaries.length === 1 && primaries[0]?.replicas === roles.length - 1;
      return isWhole ? primaries[0]?.server : undefined;
    });
  }

  /** Waits until no Sentinel sees a failure or a failover, and all name the same primary. @returns the primary, which may have failed a moment ago */
  async #untilAgreed(): Promise<RedisServerProcess> {
    return await this.#until('the Sentinels do not agree on the primary', async () => {
      const views = await this.#sentinelViews();
      const [port, ...others] = new Set(views.map((view) => view.port));
      if (others.length > 0 || views.some(({ flags }) => flags !== 'master')) return undefined;
      return this.#group.servers.find((server) => server.port === port);
    });
  }

  /** Returns the primary as each Sentinel sees it. */
  async #sentinelViews(): Promise<SentinelView[]> {
    return await Promise.all(
      this.#group.sentinels.map(async (sentinel) => {
        const fields = await command(sentinel, ['SENTINEL', 'MASTER', PRIMARY_NAME]);
        const texts = Array.isArray(fields) ? fields.map(String) : [];
        const field = (name: string) => texts[texts.indexOf(name) + 1] ?? '';
        return { port: Number(field('port')), flags: field('flags'), epoch: Number(field('config-epoch')) };
      }),
    );
  }

  /** Returns the roles of the servers that run. */
  async #roles(): Promise<Role[]> {
    const running = this.#group.servers.filter(({ pid }) => pid !== 0);
    return await Promise.all(
      running.map(async (server) => {
        const info = String(await command(server, ['INFO', 'replication']));
        return { server, isPrimary: info.includes('role:master'), replicas: info.match(/state=online/g)?.length ?? 0 };
      }),
    );
  }

  async #until<T>(problem: string, find: () => Promise<T | undefined>): Promise<T> {
    const end = Date.now() + WHOLE_WITHIN_MS;
    for (;;) {
      const found = await find();
      if (found !== undefined) return found;
      if (Date.now() > end) throw new Error(`${problem} within ${WHOLE_WITHIN_MS / 1_000} seconds`);
      await sleep(POLL_MS);
    }
  }
}

async function command(server: RedisServerProcess, [name = '', ...args]: readonly string[]): Promise<unknown> {
  const redis = server.connect();
  try {
    return await redis.call(name, ...args);
  } finally {
    redis.disconnect();
  }
}
