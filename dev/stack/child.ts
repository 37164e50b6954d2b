import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** The system user that a process runs as. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** How to start a child process, and which signals end it when this process ends. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdio: StdioOptions;
  readonly user?: Identity | undefined;
  /** Signal that the operating system sends to the child when this process dies without cleanup, for example by SIGKILL. */
  readonly orphanSignal: NodeJS.Signals;
  /**
   * Signal that this process sends to the child at its own exit if the child still runs. If the signal is SIGKILL, the child's whole process group
   * gets it.
   */
  readonly exitSignal: NodeJS.Signals;
}

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

/** Signals to send one after another until the process exits, each with the time to wait for the exit, ms. */
export type StopSteps = readonly (readonly [signal: NodeJS.Signals, timeoutMs: number])[];

const running = new Set<Child>();
process.on('exit', () => {
  for (const child of running) child.killOnExit();
});

/**
 * A child process that ends when this process ends. The child leads its own session, so Ctrl-C in a terminal reaches only this
 * process, which then stops its children in the right order.
 */
export class Child {
  readonly exited: Promise<ProcessExit>;
  readonly process: ChildProcess;
  readonly #exitSignal: NodeJS.Signals;

  constructor(options: ChildOptions) {
    this.#exitSignal = options.exitSignal;
    this.process = start(options);
    running.add(this);
    this.exited = new Promise((resolve) => {
      const end = (exit: ProcessExit): void => {
        running.delete(this);
        // Kills the remaining processes of the child's group.
        this.#signalGroup('SIGKILL');
        resolve(exit);
      };
      this.process.once('exit', (code, signal) => end({ code, signal }));
      this.process.once('error', (error) => {
        if (this.process.pid === undefined) end({ code: null, signal: null, error });
      });
    });
  }

  /** Process id; 0 if the process could not be started. */
  get pid(): number {
    return this.process.pid ?? 0;
  }

  get isRunning(): boolean {
    return running.has(this);
  }

  /** Allows this process to exit while the child runs. At that exit the child gets `exitSignal`. */
  unref(): void {
    this.process.unref();
  }

  kill(signal: NodeJS.Signals): void {
    if (this.isRunning) sendSignal(this.pid, signal);
  }

  /**
   * Sends the signals of `steps` one after another, and waits after each signal for the child to exit. If the child still runs, sends SIGKILL.
   * Resolves after the child has exited.
   */
  async stop(steps: StopSteps): Promise<void> {
    this.process.ref();
    for (const [signal, timeoutMs] of steps) {
      this.kill(signal);
      if (await settlesWithin(this.exited, timeoutMs)) return;
    }
    this.kill('SIGKILL');
    await this.exited;
  }

  /** Sends `exitSignal` to the child without waiting for its exit. Called while this process exits. */
  killOnExit(): void {
    if (this.#exitSignal === 'SIGKILL') this.#signalGroup('SIGKILL');
    else this.kill(this.#exitSignal);
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.pid > 0) sendSignal(-this.pid, signal);
  }
}

/** Returns a phrase for error messages that says how a process ended. */
export function describeExit(exit: ProcessExit): string {
  if (exit.error) return `could not be started: ${exit.error.message}`;
  return exit.signal ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`;
}

/** Returns whether a process with this id exists, also if the process belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Returns the `code` of a system error. Does not check `instanceof Error`, because Jest has its own class `Error`. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Returns whether a promise settles within a number of milliseconds. */
export async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const timer = new AbortController();
  const timeout = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false);
  const ended = await Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    timeout,
  ]);
  timer.abort();
  return ended;
}

/** Sends a signal to a process, or to a process group (negative id). Does nothing if the process has ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

function start({ command, args, cwd, env, stdio, user, orphanSignal }: ChildOptions): ChildProcess {
  if (hasSetpriv()) {
    // setpriv changes the user first and sets the death signal (`--pdeathsig`) afterwards, because a change of the user clears the death signal.
    const userArgs = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : [];
    const setprivArgs = [...userArgs, '--pdeathsig', orphanSignal.slice('SIG'.length), '--', command, ...args];
    return spawn('setpriv', setprivArgs, { cwd, env, stdio, detached: true });
  }
  const child = spawn(command, args, { cwd, env, stdio, detached: true, ...user });
  if (child.pid !== undefined) killWhenOrphaned(child.pid, orphanSignal);
  return child;
}

let setpriv: boolean | undefined;
function hasSetpriv(): boolean {
  setpriv ??= (spawnSync('setpriv', ['--help'], { encoding: 'utf8' }).stdout ?? '').includes('--pdeathsig');
  return setpriv;
}

/**
 * Starts a shell that checks every second whether this process still exists, and sends `signal` to the child when this process has ended. Used on
 * systems without setpriv, instead of `--pdeathsig`.
 */
function killWhenOrphaned(pid: number, signal: NodeJS.Signals): void {
  const script = 'while kill -0 "$1" 2>/dev/null; do kill -0 "$2" 2>/dev/null || exit 0; sleep 1; done; kill -"$3" "$2"';
  const scriptArgs = [String(process.pid), String(pid), signal.slice('SIG'.length)];
  spawn('/bin/sh', ['-c', script, 'watch', ...scriptArgs], { cwd: '/', detached: true, stdio: 'ignore' }).unref();
}
