import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../context.ts';
import { type ClaimRow, selectClaim, selectClaims } from './rows.ts';

/** How often the claims that requests wait for are looked at, all of a process in one question, ms. */
const LOOK_MS = 100;
/** Requests of a process that may wait; those beyond are told where the outcome will be. */
const MOST_WAITING = 5_000;

const isDecided = (claim: ClaimRow) => claim.state !== 'queued' && claim.state !== 'submitted';

/** Those who wait in one process, by claim. */
interface Waiting {
  readonly waiters: Map<string, Set<() => void>>;
  count: number;
  looking: boolean;
}
const waiting = new WeakMap<App, Waiting>();

/**
 * Waits, outside any transaction, until a claim is confirmed, claimed or failed.
 * @param withinMs how long at most; 0 looks once
 * @returns the claim as it is then, decided or not; null when there is none
 */
export async function outcomeOf(app: App, id: string, withinMs: number): Promise<ClaimRow | null> {
  const end = performance.now() + withinMs;
  for (;;) {
    const now = await read(app, id);
    const left = end - performance.now();
    if (now === null || isDecided(now) || left <= 0) return now;
    // What was confirmed may have vanished before it is read here: then the wait goes on.
    if (!(await decided(app, id, left))) return await read(app, id);
  }
}

const read = async (app: App, id: string) => (await app.db.query(selectClaim, [id]))[0] ?? null;

/** Returns when a claim is decided, the time is over, or nobody can tell. @returns false where too many wait already */
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
      const rows = await app.db.query(selectClaims, [[...all.waiters.keys()]]);
      tell(rows.filter(isDecided).map(({ id }) => id));
    } catch (err) {
      app.log.warn({ err }, 'claims cannot be waited for');
      tell([...all.waiters.keys()]);
    }
  }
  all.looking = false;
}
