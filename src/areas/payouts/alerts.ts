import type { App } from '#platform/app.ts';

/** The same is not said more often than this, by one process, ms. */
const SAID_EVERY_MS = 60_000;

const said = new WeakMap<App, Map<string, number>>();

/** Tells operators of something that keeps money from being paid; looks that repeat every few seconds say it once a minute. */
export function alert(app: App, subject: string, reason: string): void {
  const now = app.clock.now().getTime();
  const times = said.get(app) ?? new Map<string, number>();
  said.set(app, times);
  const key = `${subject}\n${reason}`;
  if (now - (times.get(key) ?? Number.NEGATIVE_INFINITY) < SAID_EVERY_MS) return;
  if (times.size > 1_000) times.clear();
  times.set(key, now);
  app.log.error({ subject, reason }, 'payouts need attention');
}
