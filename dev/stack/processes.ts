import { setTimeout as sleep } from 'node:timers/promises';
import { Child, describeExit, type ProcessExit, type StopSteps, settlesWithin } from './child.ts';
import type { ProcessOutput } from './logs.ts';
import type { StackPart, Supervisor } from './supervisor.ts';

/** Time that a process has to stop after SIGTERM, ms; then it is killed. The service's own shutdown timeout is shorter. */
export const DRAIN_TIMEOUT_MS = 30_000;

/** A process to start, such as an API or a worker. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Prints the output with the process's name, or `inherit`: unchanged. */
  readonly output: ProcessOutput | 'inherit';
  /** true: the process ends by itself, so its end is no failure. */
  readonly endsByItself?: boolean;
  /** Signals to stop the process (default: SIGTERM). After them the process is killed. */
  readonly stop?: StopSteps;
}

/** A started process of the project. */
export interface ServiceProcess extends StackPart {
  readonly pid: number;
  readonly isRunning: boolean;
  /** Resolves after the process has ended and its last output is printed. */
  readonly exited: Promise<ProcessExit>;
}

/** Starts a process. The caller hands it to a `Supervisor`. */
export function startProcess(options: ProcessOptions): ServiceProcess {
  const { command, args, cwd, env, output } = options;
  const child = new Child({
    command,
    args,
    cwd,
    env,
    stdio: output === 'inherit' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    // The processes of the project survive a kill at any instant without data loss, and SIGTERM does not always end them.
    orphanSignal: 'SIGKILL',
    exitSignal: 'SIGKILL',
  });
  const streams = output === 'inherit' ? [] : [child.process.stdout, child.process.stderr];
  const printed = streams.map((stream) => (stream && output !== 'inherit' ? output.follow(options.name, stream) : undefined));
  const exited = child.exited.then(async (exit) => {
    await settlesWithin(Promise.all(printed), 1_000);
    return exit;
  });
  let isStopping = false;
  const died = new Promise<string>((resolve) => {
    void exited.then((exit) => {
      if (!isStopping && !options.endsByItself) resolve(describeExit(exit));
    });
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

/** Runs a process to its end. */
export async function runProcess(stack: Supervisor, options: ProcessOptions): Promise<ProcessExit> {
  const started = await stack.start(() => startProcess({ ...options, endsByItself: true }));
  return started.exited;
}

/** Waits until a URL answers 200. @throws after `within` ms, or when the process has ended */
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
