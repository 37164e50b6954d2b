import type { Logger } from './observability/log.ts';

/** Timeout of a graceful shutdown, ms. The orchestrator must wait longer than this before it kills the process. */
export const SHUTDOWN_TIMEOUT_MS = 25_000;

/**
 * Shuts the process down gracefully on the first SIGTERM or SIGINT. Exits with 1 when the shutdown fails or times out, or on an uncaught exception.
 * @param stop closes everything that the process has opened; it calls `begin` with the name of each part that it begins to close, for the log
 */
export function shutDownOnSignal(log: Logger, stop: (begin: (part: string) => void) => Promise<void>): void {
  let stopping = false;
  let closing = '';
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'shutting down');
    setTimeout(() => {
      log.error({ closing }, 'the shutdown timed out; the process exits');
      process.exit(1);
    }, SHUTDOWN_TIMEOUT_MS).unref();
    stop((part) => {
      closing = part;
    }).then(
      () => process.exit(0),
      (err) => {
        log.error({ err }, 'the shutdown failed; the process exits');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught exception; the process exits');
    process.exit(1);
  });
}
