import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Redis } from 'ioredis';
import type { RedisNode, RedisTarget } from './config.ts';

/** Interval at which the Sentinels are asked for the primary, ms. */
const ASK_INTERVAL_MS = 500;
/** Maximum time to wait for the reply of a Sentinel, ms. */
const REPLY_TIMEOUT_MS = 1_000;
/** Maximum delay before a Sentinel is connected again, ms. */
const MAX_RECONNECT_MS = 1_000;
/** Maximum age of a reply that counts, ms. */
const MAX_REPLY_AGE_MS = 30_000;
/** Maximum Sentinels of a group, so that a faulty reply cannot open any number of connections. */
const MAX_SENTINELS = 32;

type SentinelTarget = RedisTarget & { kind: 'sentinel' };

/** The reply of a Sentinel. */
interface Reply {
  readonly primary: RedisNode;
  /** Number of the failover that made this server the primary. It grows with each failover. */
  readonly epoch: number;
  /** Time of the reply, `performance.now()`. */
  readonly at: number;
}

const addressOf = ({ host, port }: RedisNode): string => `${host}:${port}`;

/**
 * The Sentinels of a group. They learn of a failover one after the other. A replaced primary may answer again before the last Sentinel has learned of the
 * failover. So the process asks all Sentinels, and the reply with the newest failover counts. The process asks at a fixed interval, because it could miss
 * an announcement, and closes its connections to servers that are not the primary.
 */
export class Sentinels {
  readonly #target: SentinelTarget;
  /** The Sentinels in the URL, and the other Sentinels of the group, which the first ones named. */
  readonly #nodes = new Map<string, RedisNode>();
  /** Connections to the Sentinels, by address; none while no connection uses the group. */
  readonly #connections = new Map<string, Redis>();
  /** The latest reply of each Sentinel, by address. */
  readonly #replies = new Map<string, Reply>();
  /** Open sockets to a primary, each with the address of its server. */
  readonly #sockets = new Map<Socket, string>();
  #searches = 0;
  #asking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(target: SentinelTarget) {
    this.#target = target;
    for (const node of target.nodes) this.#nodes.set(addressOf(node), node);
  }

  /** Opens a socket to the primary. @returns undefined when no Sentinel names one */
  async open(): Promise<Socket | undefined> {
    this.#searches += 1;
    try {
      await this.#ask();
      const primary = this.#primary();
      if (!primary) return undefined;
      const socket = this.#target.tls ? connectTls({ ...primary }) : createConnection({ ...primary });
      this.#sockets.set(socket, addressOf(primary));
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#closeUnused();
      });
      return socket;
    } finally {
      this.#searches -= 1;
      this.#closeUnused();
    }
  }

  #primary(): RedisNode | undefined {
    const since = performance.now() - MAX_REPLY_AGE_MS;
    const recent = [...this.#replies.values()].filter(({ at }) => at > since);
    return recent.reduce<Reply | undefined>((newest, reply) => (newest && newest.epoch >= reply.epoch ? newest : reply), undefined)?.primary;
  }

  /** Asks all Sentinels, then closes the sockets to servers that are not the primary. Concurrent calls ask once. */
  #ask(): Promise<void> {
    this.#asking ??= this.#askAll().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askAll(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => this.#askOne(node)));
    const primary = this.#primary();
    if (primary) for (const [socket, address] of this.#sockets) if (address !== addressOf(primary)) socket.destroy();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), ASK_INTERVAL_MS).unref();
    this.#closeUnused();
  }

  /** Asks a Sentinel for the primary. A Sentinel that does not answer in time changes nothing. */
  async #askOne(node: RedisNode): Promise<void> {
    const { name } = this.#target;
    // Sentinel handles the commands together. During a failover, only the reply to the second one names the new primary.
    const commands = ['MASTER', 'GET-MASTER-ADDR-BY-NAME'].map((command) => ['call', 'SENTINEL', command, name]);
    const [[, master] = [], [, found] = []] =
      (await this.#connectionTo(node)
        .pipeline(commands)
        .exec()
        .catch(() => null)) ?? [];
    const epoch = Number(fieldsOf(master)['config-epoch']);
    if (!Array.isArray(found) || !Number.isSafeInteger(epoch)) return;
    this.#replies.set(addressOf(node), { primary: { host: String(found[0]), port: Number(found[1]) }, epoch, at: performance.now() });
  }

  #connectionTo(node: RedisNode): Redis {
    const address = addressOf(node);
    const existing = this.#connections.get(address);
    if (existing) return existing;
    const { tls, sentinelUsername: username, sentinelPassword: password } = this.#target;
    const sentinel = new Redis({
      ...node,
      ...{ username, password, ...(tls ? { tls: {} } : {}) },
      ...{ enableReadyCheck: false, connectTimeout: REPLY_TIMEOUT_MS, commandTimeout: REPLY_TIMEOUT_MS, maxRetriesPerRequest: 0 },
      retryStrategy: (tries) => Math.min(50 * 2 ** Math.min(tries, 5), MAX_RECONNECT_MS),
    });
    this.#connections.set(address, sentinel);
    sentinel.on('error', () => undefined);
    sentinel.on('ready', () => this.#addOthers(sentinel));
    return sentinel;
  }

  /** Adds the Sentinels that a Sentinel names. */
  async #addOthers(sentinel: Redis): Promise<void> {
    const others: unknown = await sentinel.call('SENTINEL', 'SENTINELS', this.#target.name).catch(() => null);
    if (!Array.isArray(others)) return;
    for (const { ip: host, port } of others.map(fieldsOf)) {
      if (!host || !port || this.#nodes.size >= MAX_SENTINELS) continue;
      const node = { host, port: Number(port) };
      this.#nodes.set(addressOf(node), node);
    }
  }

  /** Closes the connections to the Sentinels when no socket is open and no call of `open` is in flight. */
  #closeUnused(): void {
    if (this.#sockets.size > 0 || this.#searches > 0) return;
    clearTimeout(this.#timer);
    for (const sentinel of this.#connections.values()) sentinel.disconnect();
    this.#connections.clear();
  }
}

/** Returns the fields of a reply that lists names and values in turn. */
function fieldsOf(reply: unknown): Partial<Record<string, string>> {
  if (!Array.isArray(reply)) return {};
  return Object.fromEntries(reply.flatMap((name, i) => (i % 2 === 0 ? [[String(name), String(reply[i + 1])]] : [])));
}
