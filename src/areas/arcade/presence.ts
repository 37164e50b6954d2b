import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { App } from '#platform/app.ts';
import { script } from '#platform/redis/script.ts';
import type { Timing } from './play-session.ts';

/**
 * Keys of the API processes' presence, on one node of a cluster:
 *   alive:<process>  expires soon after the process died
 *   any              expires soon after all of them died; missing also after Redis lost its memory
 *   since            ms since 1970 from when on Redis knows every beat: what was silent before that may be our fault
 */
export function presenceKeys(prefix: string) {
  const tag = `{${prefix}:presence}`;
  return { alive: (process: string) => `${tag}:alive:${process}`, any: `${tag}:any`, since: `${tag}:since` };
}

/** KEYS: alive, any, since. ARGV: ms to live, now, '1' for what was expected to be alive still, '1' for a process that stood still. */
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

/** Whether a process has said lately that it is alive. */
export async function isAlive(redis: Redis, prefix: string, process: string, timing: Timing): Promise<boolean> {
  return (await redis.pttl(presenceKeys(prefix).alive(process))) > timing.aliveMs - 2 * timing.refreshMs;
}

/** This process's presence: what it tells the others, and what it notices of its own and of Redis's failures. */
export class Presence {
  /** Names this process for its lifetime. */
  readonly id = randomUUID();
  /** When this process last came to again after it had stood still, ms since 1970. */
  stalledAt = 0;
  readonly #app: App;
  readonly #timing: Timing;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #refreshedAt: number | null = null;
  #stalled = false;
  #withdraw: () => void = () => undefined;

  constructor(app: App, timing: Timing) {
    this.#app = app;
    this.#timing = timing;
  }

  /** Begins to tell the others. @param afterwards runs every time Redis was reached */
  start(afterwards: () => void): void {
    const tell = () => void this.check().then(afterwards, (err) => this.#app.log.debug({ err }, 'presence is not known to redis'));
    const refresh = () => {
      if (performance.now() - this.#dueAt > this.#timing.aliveMs) {
        this.stalledAt = this.#app.clock.now().getTime();
        this.#stalled = true;
      }
      this.#dueAt = performance.now() + this.#timing.refreshMs;
      this.#timer = setTimeout(refresh, this.#timing.refreshMs).unref();
      tell();
    };
    this.#dueAt = performance.now();
    refresh();
    this.#app.redis.on('ready', tell);
    this.#withdraw = () => {
      clearTimeout(this.#timer);
      this.#app.redis.off('ready', tell);
    };
  }

  /** Tells the others now. @returns from when on Redis knows every beat, ms since 1970 */
  async check(): Promise<number> {
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

  /** Whether another process (or this one) is alive. */
  isAlive(process: string): Promise<boolean> {
    return process === this.id ? Promise.resolve(true) : isAlive(this.#app.redis, this.#app.config.redis.prefix, process, this.#timing);
  }

  /** Tells the others that this process is gone. */
  async stop(): Promise<void> {
    this.#withdraw();
    await this.#app.redis.del(presenceKeys(this.#app.config.redis.prefix).alive(this.id)).catch(() => undefined);
  }
}
