import type { App } from '#platform/app.ts';
import type { BatchedEvent } from '#platform/events/event.ts';
import { publishTick } from '#platform/events/publisher.ts';
import { wakeUpChannel } from '#platform/events/redis-stream.ts';

/** Without the bell, how often a publisher looks by itself, ms. */
const IDLE_MS = 1_000;
/** After a failure, how long it waits at first; then twice as long, up to the above. */
const RETRY_MS = 50;
/** After the bell, how long it lets more events come in, ms. */
const GATHER_MS = 8;

/**
 * Publishes the outbox to the feed until closed: woken by the bell, and by itself every second.
 */
export function publishEvents(app: App, batched: BatchedEvent = app.events.batched): { close(): Promise<void> } {
  const bell = app.connect();
  let closed = false;
  let rung = false;
  let wake = () => {};
  const ring = () => {
    rung = true;
    wake();
  };
  const sleep = (ms: number, wakeable: boolean) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        if (!wakeable && !closed) return;
        clearTimeout(timer);
        resolve();
      };
      if (wakeable && rung) wake();
    });
  const idle = async () => {
    await sleep(IDLE_MS, true);
    if (rung && !closed) await sleep(GATHER_MS, false);
  };
  const run = async () => {
    let retryMs = RETRY_MS;
    while (!closed) {
      rung = false;
      try {
        const again = await publishTick(app, batched);
        retryMs = RETRY_MS;
        if (closed) return;
        if (again === null) await idle();
        else if (again > 0) await sleep(again, false);
      } catch (err) {
        if (closed) return;
        if (retryMs === 2 * RETRY_MS) app.log.warn({ err }, 'events cannot be published now');
        await sleep(retryMs, false);
        retryMs = Math.min(2 * retryMs, IDLE_MS);
      }
    }
  };
  bell.on('message', ring);
  // Not awaited: ioredis subscribes when Redis is reachable, and again after each reconnect.
  bell.subscribe(wakeUpChannel(app.config)).catch(() => undefined);
  const done = run();
  return {
    async close() {
      closed = true;
      wake();
      bell.off('message', ring);
      await done;
    },
  };
}
