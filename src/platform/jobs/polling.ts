import { setTimeout as sleep } from 'node:timers/promises';
import { type App, perApp } from '#platform/app.ts';

/** Poll interval, ms. One query serves all waiting requests of a process. */
const POLL_MS = 100;
/** Maximum requests of a process that wait for rows of one kind. Further requests do not wait and get the current row at once. */
const MAX_WAITING = 5_000;

/** The waiting requests of one process, by the id of the row that each request waits for. */
interface Waiting {
  readonly waiters: Map<string, Set<() => void>>;
  count: number;
  isPolling: boolean;
}

/**
 * Creates a function that waits until a row is decided, for example until a claim has succeeded or failed. No transaction is open during the wait.
 * All waiting requests of a process share one query per poll.
 * @param read returns the existing rows among the given ids
 * @param isDecided returns whether a row is decided, which ends the wait
 * @returns a function that waits at most `withinMs` (0 = reads the row once) and returns the row as it is after the wait; null when the row does not
 * exist
 */
export function pollUntil<Row extends { readonly id: string }>(
  read: (app: App, ids: readonly string[]) => Promise<Row[]>,
  isDecided: (row: Row) => boolean,
): (app: App, id: string, withinMs: number) => Promise<Row | null> {
  const waitingRequests = perApp((): Waiting => ({ waiters: new Map(), count: 0, isPolling: false }));
  const readOne = async (app: App, id: string) => (await read(app, [id]))[0] ?? null;

  /**
   * Waits until the row is decided, the time is over, or a poll has failed.
   * @returns true after the wait; false at once, without a wait, when too many requests wait already
   */
  function decided(app: App, id: string, withinMs: number): Promise<boolean> {
    const waiting = app.state(waitingRequests);
    if (waiting.count >= MAX_WAITING) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        const ofRow = waiting.waiters.get(id);
        if (ofRow?.delete(done)) waiting.count--;
        if (ofRow?.size === 0) waiting.waiters.delete(id);
        resolve(true);
      };
      const timer = setTimeout(done, withinMs);
      const ofRow = waiting.waiters.get(id) ?? new Set();
      waiting.waiters.set(id, ofRow.add(done));
      waiting.count++;
      if (!waiting.isPolling)
        poll(app, waiting).catch((err: unknown) => app.log.error({ err }, 'the rows that requests wait for are not polled any more'));
    });
  }

  /** Polls the rows of all waiting requests until no request waits any more. A failed query ends every wait. */
  async function poll(app: App, waiting: Waiting): Promise<void> {
    waiting.isPolling = true;
    const end = (ids: readonly string[]) => {
      for (const id of ids) for (const done of [...(waiting.waiters.get(id) ?? [])]) done();
    };
    while (waiting.count > 0) {
      await sleep(POLL_MS);
      try {
        const rows = await read(app, [...waiting.waiters.keys()]);
        end(rows.filter(isDecided).map(({ id }) => id));
      } catch (err) {
        app.log.warn({ err }, 'rows that requests wait for cannot be read; the requests stop waiting');
        end([...waiting.waiters.keys()]);
      }
    }
    waiting.isPolling = false;
  }

  return async (app, id, withinMs) => {
    const end = performance.now() + withinMs;
    for (;;) {
      const row = await readOne(app, id);
      const leftMs = end - performance.now();
      if (row === null || isDecided(row) || leftMs <= 0) return row;
      // After the wait, the loop reads the row again, because the row may have become undecided since the poll.
      if (!(await decided(app, id, leftMs))) return await readOne(app, id);
    }
  };
}
