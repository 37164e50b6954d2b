import { gameBoard, rankOf } from '#areas/points';
import { type App, eventsBell } from '#context';
import { publishRound, type Ranks } from '#platform/events/publisher.ts';

/** Without the bell, how often a publisher looks by itself, ms. */
const IDLE_MS = 1_000;
/** After a failure, how long it waits at first; then twice as long, up to the above. */
const RETRY_MS = 50;
/** After the bell, how long it lets more events come in, ms. */
const GATHER_MS = 8;

/** Ranks as the boards in Redis have them, asked once per game. */
const ranksIn =
  (app: App): Ranks =>
  async (entries) => {
    const found = new Map<(typeof entries)[number], number | null>();
    await Promise.all(
      [...Map.groupBy(entries, (entry) => entry.gameId)].map(async ([gameId, ofGame]) => {
        const ranks = await rankOf(
          app,
          gameBoard(gameId),
          ofGame.map((entry) => entry.wallet),
        );
        for (const [i, entry] of ofGame.entries()) found.set(entry, ranks[i] ?? null);
      }),
    );
    return entries.map((entry) => found.get(entry) ?? null);
  };

/**
 * Publishes the outbox to the feed until closed: woken by the bell, and by itself every second.
 * @param ranks the ranks that broadcast scores show; by default those of the boards in Redis
 */
export function publishEvents(app: App, ranks: Ranks = ranksIn(app)): { close(): Promise<void> } {
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
        const again = await publishRound(app, ranks);
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
  bell.subscribe(eventsBell(app.config)).catch(() => undefined);
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
