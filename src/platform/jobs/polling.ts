import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '#platform/app.ts';

/** How often what requests wait for is looked at, all of a process in one question, ms. */
const LOOK_MS = 100;
/** Requests of a process that may wait for one kind of thing; those beyond are told where the outcome will be. */
const MOST_WAITING = 5_000;

/** Those who wait in one process, by id. */
interface Waiting {
  readonly waiters: Map<string, Set<() => void>>;
  count: number;
  looking: boolean;
}

/**
 * Makes what waits, outside any transaction, until rows of a kind are decided: any number of requests, one question.
 * @param read the rows of some ids, those that there are
 * @returns waits at most `withinMs` (0 looks once) and answers the row as it is then, decided or not; null when there is none
 */
export function pollUntil<Row extends { readonly id: string }>(
  read: (app: App, ids: readonly string[]) => Promise<Row[]>,
  isDecided: (row: Row) => boolean,
): (app: App, id: string, withinMs: number) => Promise<Row | null> {
  const waiting = new WeakMap<App, Waiting>();
  const readOne = async (app: App, id: string) => (await read(app, [id]))[0] ?? null;

  /** Returns when a row is decided, the time is over, or nobody can tell. @returns false where too many wait already */
  function decided(app: App, id: string, withinMs: number): Promise<boolean> {
    const all: Waiting = waiting.get(app) ?? { waiters: new Map(), count: 0, looking: false };
    waiting.set(app, all);
    if (all.count >= MOST_WAITING) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        const mine = all.waiters.get(id);
        if (mine?.delete(done)) all.count--;
        if (mine?.size === 0) all.waiters.delete(id);
        resolve(true);
      };
      const timer = setTimeout(done, withinMs);
      const mine = all.waiters.get(id) ?? new Set();
      all.waiters.set(id, mine.add(done));
      all.count++;
      if (!all.looking) void look(app, all);
    });
  }

  /** One look for everybody, again and again while somebody waits. A record that does not answer ends the waiting. */
  async function look(app: App, all: Waiting): Promise<void> {
    all.looking = true;
    const tell = (ids: readonly string[]) => {
      for (const id of ids) for (const done of [...(all.waiters.get(id) ?? [])]) done();
    };
    while (all.count > 0) {
      await sleep(LOOK_MS);
      try {
        const rows = await read(app, [...all.waiters.keys()]);
        tell(rows.filter(isDecided).map(({ id }) => id));
      } catch (err) {
        app.log.warn({ err }, 'what requests wait for cannot be read');
        tell([...all.waiters.keys()]);
      }
    }
    all.looking = false;
  }

  return async (app, id, withinMs) => {
    const end = performance.now() + withinMs;
    for (;;) {
      const now = await readOne(app, id);
      const left = end - performance.now();
      if (now === null || isDecided(now) || left <= 0) return now;
      // What was decided may be open again before it is read here: then the wait goes on.
      if (!(await decided(app, id, left))) return await readOne(app, id);
    }
  };
}
