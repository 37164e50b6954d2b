import { type App, perApp } from '#platform/app.ts';

/** Minimum interval between two alerts of this process with the same subject and reason, ms. */
const MIN_INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 1_000;

/** Time of the latest alert for each subject and reason, ms since 1970. */
const alertTimes = perApp(() => new Map<string, number>());

/** Logs an error that tells operators why payments are delayed. Logs the same subject and reason at most once per minute. */
export function alert(app: App, subject: string, reason: string): void {
  const now = app.clock.now().getTime();
  const times = app.state(alertTimes);
  const key = `${subject}\n${reason}`;
  if (now - (times.get(key) ?? Number.NEGATIVE_INFINITY) < MIN_INTERVAL_MS) return;
  if (times.size > MAX_REMEMBERED) times.clear();
  times.set(key, now);
  app.log.error({ subject, reason }, 'payments are delayed until an operator removes the cause');
}
