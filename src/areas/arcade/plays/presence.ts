import { randomUUID } from 'node:crypto';
import type { App } from '#platform/app.ts';
import type { RedisClient } from '#platform/redis/connection.ts';
import { script } from '#platform/redis/script.ts';
import type { SessionTiming } from './play-session.ts';

/**
 * Returns the Redis keys that show which API processes are alive. All keys are on one node of a cluster.
 *   alive:<process>  exists while the process is alive; expires soon after its death
 *   any              exists while any API process is alive; missing after Redis lost its data
 *   since            Redis has every heartbeat since this time, ms since 1970; the service may have caused a silence before this time
 */
export function presenceKeys(prefix: string) {
  const tag = `{${prefix}:presence}`;
  return { alive: (process: string) => `${tag}:alive:${process}`, any: `${tag}:any`, since: `${tag}:since` };
}

/**
 * Lua: renews the keys of a process. Sets the key `since` to the current time if heartbeats may be lost. Returns the value of `since`.
 *   KEYS     the keys `alive` (of this process), `any` and `since`, as `presenceKeys` describes them
 *   ARGV[1]  expiry of the keys `alive` and `any`, ms
 *   ARGV[2]  current time, ms since 1970
 *   ARGV[3]  '1' if Redis should still have the key `alive` from the last renewal
 *   ARGV[4]  '1' if the process stalled since the last renewal
 */
const refreshPresence = script<string>(`
local lost = redis.call('EXISTS', KEYS[2]) == 0 or (ARGV[3] == '1' and redis.call('EXISTS', KEYS[1]) == 0) or ARGV[4] == '1'
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
local since = tonumber(redis.call('GET', KEYS[3]) or '')
if not since or (lost and since < tonumber(ARGV[2])) then
  since = tonumber(ARGV[2])
  redis.call('SET', KEYS[3], ARGV[2])
end
return tostring(since)
`);

/** Returns whether a process renewed its key `alive` recently. */
export async function isAlive(redis: RedisClient, prefix: string, process: string, timing: SessionTiming): Promise<boolean> {
  return (await redis.pttl(presenceKeys(prefix).alive(process))) > timing.aliveMs - 2 * timing.refreshMs;
}

/** Renews the Redis keys that show that this process is alive. Detects stalls of this process and data loss of Redis. */
export class Presence {
  /** Random id of this process. */
  readonly id = randomUUID();
  /** Time at which this process last resumed after a stall, ms since 1970. */
  stalledAt = 0;
  readonly #app: App;
  readonly #timing: SessionTiming;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #refreshedAt: number | null = null;
  #stalled = false;
  #withdraw: () => void = () => undefined;

  constructor(app: App, timing: SessionTiming) {
    this.#app = app;
    this.#timing = timing;
  }

  /**
   * Starts renewing the keys at an interval.
   * @param afterwards function that is called after each successful renewal
   */
  start(afterwards: () => void): void {
    const announce = () => {
      this.announce().then(afterwards, (err) =>
        this.#app.log.debug({ err }, 'the presence of this process cannot be written to Redis; the next refresh retries'),
      );
    };
    const refresh = () => {
      if (performance.now() - this.#dueAt > this.#timing.aliveMs) {
        this.stalledAt = this.#app.clock.now().getTime();
        this.#stalled = true;
      }
      this.#dueAt = performance.now() + this.#timing.refreshMs;
      this.#timer = setTimeout(refresh, this.#timing.refreshMs).unref();
      announce();
    };
    this.#dueAt = performance.now();
    refresh();
    this.#app.redis.on('ready', announce);
    this.#withdraw = () => {
      clearTimeout(this.#timer);
      this.#app.redis.off('ready', announce);
    };
  }

  /**
   * Renews the keys of this process now.
   * @returns the time since which Redis has every heartbeat, ms since 1970
   */
  async announce(): Promise<number> {
    const keys = presenceKeys(this.#app.config.redis.prefix);
    const { aliveMs } = this.#timing;
    const startedAt = performance.now();
    const cutOff = this.#refreshedAt !== null && startedAt - this.#refreshedAt > aliveMs;
    const expected = this.#refreshedAt !== null && !cutOff;
    const now = this.#app.clock.now().getTime();
    const since = await refreshPresence(
      this.#app.redis,
      [keys.alive(this.id), keys.any, keys.since],
      [aliveMs, now, expected ? '1' : '0', cutOff || this.#stalled ? '1' : '0'],
    );
    this.#stalled = false;
    this.#refreshedAt = startedAt;
    return Number(since);
  }

  /** Returns whether an API process is alive. */
  isAlive(process: string): Promise<boolean> {
    return process === this.id ? Promise.resolve(true) : isAlive(this.#app.redis, this.#app.config.redis.prefix, process, this.#timing);
  }

  /** Stops the renewal and deletes the key `alive` of this process. */
  async stop(): Promise<void> {
    this.#withdraw();
    await this.#app.redis.del(presenceKeys(this.#app.config.redis.prefix).alive(this.id)).catch(() => undefined);
  }
}
