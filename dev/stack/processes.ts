import { setTimeout as sleep } from 'node:timers/promises';
import { Child, describeExit, type Exit, endsWithin, type StopSteps } from './child.ts';
import type { Console } from './logs.ts';
import type { Part, Supervisor } from './supervisor.ts';

/** Time to finish what was begun, ms; a process that needs longer is killed. Ours give up by themselves before. */
export const DRAIN_LIMIT = 30_000;

/** One of our own processes. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where its output goes: under its name, or straight through as if it were ours. */
  readonly output: Console | 'inherit';
  /** true for one that is meant to come to an end by itself. */
  readonly mayEnd?: boolean;
  /** How it is asked to stop, before it is killed. */
  readonly stop?: StopSteps;
}

/** A running process of ours. */
export interface OwnProcess extends Part {
  readonly pid: number;
  readonly isRunning: boolean;
  /** How it ended, asked or not, after its last output was printed. */
  readonly exited: Promise<Exit>;
}

/** Starts one of our own processes, under the care of nobody yet: give it to a `Supervisor`. */
export function startProcess(options: ProcessOptions): OwnProcess {
  const { command, args, cwd, env, output } = options;
  const child = new Child({
    command,
    args,
    cwd,
    env,
    stdio: output === 'inherit' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    // Any instant is good enough for them to be killed at, and a polite signal is not sure to end them.
    orphanSignal: 'SIGKILL',
    exitSignal: 'SIGKILL',
  });
  const streams = output === 'inherit' ? [] : [child.process.stdout, child.process.stderr];
  const printed = streams.map((stream) => (stream && output !== 'inherit' ? output.follow(options.name, stream) : undefined));
  const exited = child.exited.then(async (exit) => {
    await endsWithin(Promise.all(printed), 1_000);
    return exit;
  });
  let isStopping = false;
  const died = new Promise<string>((resolve) => {
    void exited.then((exit) => {
      if (!isStopping && !options.mayEnd) resolve(describeExit(exit));
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
      await child.stop(options.stop ?? [['SIGTERM', DRAIN_LIMIT]]);
      await exited;
    },
  };
}

/** Runs a process of ours to its end. */
export async function runProcess(stack: Supervisor, options: ProcessOptions): Promise<Exit> {
  const started = await stack.start(() => startProcess({ ...options, mayEnd: true }));
  return started.exited;
}

/** Waits until a URL answers 200; throws when that takes too long or the process behind it has gone. */
export async function waitUntilReady(process: OwnProcess, url: string, within: number): Promise<void> {
  const end = Date.now() + within;
  let last = 'no answer';
  while (Date.now() < end && process.isRunning) {
    last = await answerOf(url);
    if (last === '200') return;
    await sleep(100);
  }
  if (!process.isRunning) throw new Error(`${process.name} ${describeExit(await process.exited)} before it was ready`);
  throw new Error(`${process.name} was not ready within ${within / 1000} seconds: ${url} gave ${last}`);
}

async function answerOf(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    const text = await response.text();
    return response.ok ? String(response.status) : `${response.status} ${text.slice(0, 200)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
