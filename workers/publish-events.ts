import type { App } from '#platform/app.ts';
import type { BatchedEvents } from '#platform/events/event.ts';
import { publishTick } from '#platform/events/publisher.ts';
import { wakeUpChannel } from '#platform/events/redis-stream.ts';

/** Interval between two polls of the outbox (the events in the database that are not published yet) when no wake-up message arrives, ms. */
const IDLE_MS = 1_000;
/** Delay after a first failure, ms. The delay doubles with each further failure, up to IDLE_MS. */
const RETRY_MS = 50;
/** Delay between a wake-up message and the publishing, ms, so that events that follow shortly are published together. */
const COLLECT_MS = 8;

/**
 * Publishes the outbox to the Redis stream until `close` is called. A message on the wake-up channel starts publishing; without such a message, the
 * publisher polls the outbox every second.
 */
export function publishEvents(app: App, batched: BatchedEvents = app.events.batched): { close(): Promise<void> } {
  const subscriber = app.connect();
  let closed = false;
  let woken = false;
  let wake = () => {};
  const onMessage = () => {
    woken = true;
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
      if (wakeable && woken) wake();
    });
  const idle = async () => {
    await sleep(IDLE_MS, true);
    if (woken && !closed) await sleep(COLLECT_MS, false);
  };
  const run = async () => {
    let retryMs = RETRY_MS;
    while (!closed) {
      woken = false;
      try {
        const again = await publishTick(app, batched);
        retryMs = RETRY_MS;
        if (closed) return;
        if (again === null) await idle();
        else if (again > 0) await sleep(again, false);
      } catch (err) {
        if (closed) return;
        if (retryMs === 2 * RETRY_MS) app.log.warn({ err }, 'events cannot be published; the publisher retries');
        await sleep(retryMs, false);
        retryMs = Math.min(2 * retryMs, IDLE_MS);
      }
    }
  };
  subscriber.on('message', onMessage);
  // The subscription is not awaited: ioredis subscribes when Redis is reachable, and again after each reconnect.
  subscriber.subscribe(wakeUpChannel(app.config)).catch(() => undefined);
  const done = run();
  return {
    async close() {
      closed = true;
      wake();
      subscriber.off('message', onMessage);
      await done;
    },
  };
}
