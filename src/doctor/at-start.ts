import type { App } from '#platform/app.ts';
import type { ProcessType } from './check.ts';
import { countStates, examine } from './examine.ts';

/** Maximum number of findings that are logged one by one. */
const MAX_LOGGED = 20;
/** Delay of the checks, ms, so that their CPU time does not delay the first requests and jobs. */
const DELAY_MS = 1_000;

/**
 * Runs the checks of bin/doctor a second later, and logs one line per wrong finding and a summary. Returns at once and never throws, so that it neither
 * delays the start of the process nor ends it: the service starts while dependencies are down, and each use of a dependency checks it again.
 */
export function reportAtStart(app: App, process: ProcessType): void {
  const timer = setTimeout(() => {
    examine(app, process)
      .then((results) => report(app, results))
      .catch((err: unknown) => app.log.error({ err }, 'the configuration and the dependencies could not be checked; bin/doctor checks them again'));
  }, DELAY_MS);
  timer.unref();
}

function report(app: App, results: Awaited<ReturnType<typeof examine>>): void {
  const wrong = results.filter(({ state }) => state === 'wrong');
  for (const { check, what, remedy } of wrong.slice(0, MAX_LOGGED)) app.log.error({ check, remedy }, `wrong configuration or dependency: ${what}`);
  const counts = countStates(results);
  app.log[wrong.length > 0 ? 'error' : 'info'](counts, 'the configuration and the dependencies are checked; bin/doctor lists all findings');
}
