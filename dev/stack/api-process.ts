import { setTimeout as sleep } from 'node:timers/promises';
import { describeExit, settlesWithin } from './child.ts';
import { type ProcessOptions, type ServiceProcess, startProcess, waitUntilReady } from './processes.ts';

/** Maximum time from the start of an API process until it is ready, ms. */
const READY_WITHIN = 60_000;
const MAX_STARTS = 20;
const PAUSE_MS = 250;

/** Where to start an API process. */
export interface ApiProcessOptions {
  /** Port; 0 (default): any free port. */
  readonly port?: number;
  /** Called with each process that was started, before it is ready. */
  readonly onStart?: (process: ServiceProcess) => void;
}

/**
 * Starts an API process and waits until it is ready. The process binds the port itself and logs the port. If another process uses the port, the API
 * process is started again for about five seconds.
 * Precondition: LOG_LEVEL in `process.env` is `info` or more detailed.
 * @returns the process and its port
 */
export async function startApiProcess(
  process: ProcessOptions,
  { port = 0, onStart }: ApiProcessOptions = {},
): Promise<{ process: ServiceProcess; port: number }> {
  for (let starts = 1; ; starts++) {
    const bound = Promise.withResolvers<number>();
    let isPortInUse = false;
    const api = startProcess({
      ...process,
      env: { ...process.env, PORT: String(port) },
      onLine(line) {
        const logged = loggedPort(line);
        if (logged !== undefined) bound.resolve(logged);
        if (line.includes('EADDRINUSE')) isPortInUse = true;
      },
    });
    onStart?.(api);
    const isSettled = await settlesWithin(Promise.race([bound.promise, api.exited]), READY_WITHIN);
    if (!isSettled) throw new Error(`${api.name} did not log its port within ${READY_WITHIN / 1000} seconds`);
    if (api.isRunning) {
      const chosen = await bound.promise;
      await waitUntilReady(api, `http://127.0.0.1:${chosen}/readyz`, READY_WITHIN);
      return { process: api, port: chosen };
    }
    const exit = await api.exited;
    if (!isPortInUse || starts === MAX_STARTS) throw new Error(`${api.name} ${describeExit(exit)} before it was ready`);
    await sleep(PAUSE_MS);
  }
}

/** Returns the port in a log line such as `{"level":"info","address":{"address":"::","port":3000},"msg":"api is ready"}`. */
export function loggedPort(line: string): number | undefined {
  const port = /^\{.*"address":\{[^}]*"port":(\d+)/.exec(line)?.[1];
  return port === undefined ? undefined : Number(port);
}
