import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, describeExit, type ProcessExit, type StopSteps, settlesWithin } from './child.ts';
import type { ProcessOutput } from './logs.ts';
import type { StackPart, Supervisor } from './supervisor.ts';

/** Maximum time from SIGTERM to the exit of a process, ms; then the process is killed. The processes' own shutdown timeout is shorter. */
export const DRAIN_TIMEOUT_MS = 30_000;

/** A process to start, such as an API or a worker. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where the process's output goes. A `ProcessOutput` prints each line with the process's name; `inherit` prints the output unchanged. */
  readonly output: ProcessOutput | 'inherit';
  /** Whether the process may end without a call of `stop`. If true, its end is no failure. */
  readonly endsByItself?: boolean;
  /** Called with each line that the process prints. Not called if `output` is `inherit`. */
  readonly onLine?: (line: string) => void;
  /** Signal that the operating system sends to the process when this process dies without cleanup (default: SIGKILL). */
  readonly orphanSignal?: NodeJS.Signals;
  /** Signals that stop the process (default: SIGTERM). If the process still runs after the last signal, it is killed. */
  readonly stop?: StopSteps;
}

/** A started process of the project. */
export interface ServiceProcess extends StackPart {
  readonly pid: number;
  readonly isRunning: boolean;
  /** Resolves after the process has ended and its last output is printed. */
  readonly exited: Promise<ProcessExit>;
}

/** Starts a process. The caller must pass the returned process to a `Supervisor`, which stops it. */
export function startProcess(options: ProcessOptions): ServiceProcess {
  const { command, args, cwd, env, output } = options;
  const child = new Child({
    command,
    args,
    cwd,
    env,
    stdio: output === 'inherit' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    // SIGKILL is safe, because a kill at any moment loses no data of these processes. SIGTERM does not end a process that hangs.
    orphanSignal: options.orphanSignal ?? 'SIGKILL',
    exitSignal: 'SIGKILL',
  });
  const streams = output === 'inherit' ? [] : [child.process.stdout, child.process.stderr];
  const printed = streams.map((stream) => (stream && output !== 'inherit' ? output.follow(options.name, stream) : undefined));
  for (const stream of streams) if (stream && options.onLine) createInterface(stream).on('line', options.onLine);
  const exited = child.exited.then(async (exit) => {
    await settlesWithin(Promise.all(printed), 1_000);
    return exit;
  });
  let isStopping = false;
  const died = new Promise<string>((resolve, reject) => {
    exited.then((exit) => {
      if (!isStopping && !options.endsByItself) resolve(describeExit(exit));
    }, reject);
  });
  return {
    name: options.name,
    pid: child.pid,
    exited,
    died,
    get isRunning() {
      return child.isRunning;
    },
    async stop() {
      isStopping = true;
      await child.stop(options.stop ?? [['SIGTERM', DRAIN_TIMEOUT_MS]]);
      await exited;
    },
  };
}

/** Runs a process and waits until it ends. */
export async function runProcess(stack: Supervisor, options: ProcessOptions): Promise<ProcessExit> {
  const started = await stack.start(() => startProcess({ ...options, endsByItself: true }));
  return started.exited;
}

/**
 * Requests a URL until it responds with 200.
 * @throws when there is no response 200 within `within` ms, or when the process has ended
 */
export async function waitUntilReady(process: ServiceProcess, url: string, within: number): Promise<void> {
  const end = Date.now() + within;
  let last = 'no response';
  while (Date.now() < end && process.isRunning) {
    last = await getStatus(url);
    if (last === '200') return;
    await sleep(100);
  }
  if (!process.isRunning) throw new Error(`${process.name} ${describeExit(await process.exited)} before it was ready`);
  throw new Error(`${process.name} was not ready within ${within / 1000} seconds: ${url} returned ${last}`);
}

async function getStatus(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    const text = await response.text();
    return response.ok ? String(response.status) : `${response.status} ${text.slice(0, 200)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
