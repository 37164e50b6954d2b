import type { Logger } from './observability/log.ts';

/** How long a process may take to finish what it has in hand, ms. Whoever stops processes gives them longer, before it kills them. */
export const GRACE_MS = 25_000;

/** Stops once, in order, on SIGTERM or SIGINT; ends by force when that takes too long. */
export function stopOnSignal(log: Logger, stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error('did not stop in time');
      process.exit(1);
    }, GRACE_MS).unref();
    stop().then(
      () => process.exit(0),
      (err) => {
        log.error({ err }, 'could not stop in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught');
    process.exit(1);
  });
}
