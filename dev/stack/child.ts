import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Another system user to run as. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** What to run, and how it is to go should this process vanish. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdio: StdioOptions;
  readonly user?: Identity | undefined;
  /** Sent by the system when this process is killed outright. */
  readonly orphanSignal: NodeJS.Signals;
  /** Sent to it (or its whole group) when this process exits without having stopped it. */
  readonly exitSignal: NodeJS.Signals;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

/** A polite request first, harder ones after: each signal with the milliseconds it is given. */
export type StopSteps = readonly (readonly [signal: NodeJS.Signals, patience: number])[];

const running = new Set<Child>();
process.on('exit', () => {
  for (const child of running) child.exitNow();
});

/**
 * A process that does not outlive this one. It leads a session of its own, so that Ctrl-C in a terminal reaches only
 * us and the order of stopping is ours.
 */
export class Child {
  readonly exited: Promise<Exit>;
  readonly process: ChildProcess;
  readonly #exitSignal: NodeJS.Signals;

  constructor(options: ChildOptions) {
    this.#exitSignal = options.exitSignal;
    this.process = start(options);
    running.add(this);
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit): void => {
        running.delete(this);
        // Whatever it left behind in its group goes with it.
        this.#signalGroup('SIGKILL');
        resolve(exit);
      };
      this.process.once('exit', (code, signal) => end({ code, signal }));
      this.process.once('error', (error) => {
        if (this.process.pid === undefined) end({ code: null, signal: null, error });
      });
    });
  }

  /** 0 for a process that could not be started at all. */
  get pid(): number {
    return this.process.pid ?? 0;
  }

  get isRunning(): boolean {
    return running.has(this);
  }

  /** Lets this process end by itself while the child still runs; it is ended then. */
  unref(): void {
    this.process.unref();
  }

  kill(signal: NodeJS.Signals): void {
    if (this.isRunning) send(this.pid, signal);
  }

  /** Asks it to go, each time more firmly, and returns when it is gone. */
  async stop(steps: StopSteps): Promise<void> {
    this.process.ref();
    for (const [signal, patience] of steps) {
      this.kill(signal);
      if (await endsWithin(this.exited, patience)) return;
    }
    this.kill('SIGKILL');
    await this.exited;
  }

  /** The last resort while this process exits: nothing can be waited for any more. */
  exitNow(): void {
    if (this.#exitSignal === 'SIGKILL') this.#signalGroup('SIGKILL');
    else this.kill(this.#exitSignal);
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.pid > 0) send(-this.pid, signal);
  }
}

/** One phrase for people: how a process ended. */
export function describeExit(exit: Exit): string {
  if (exit.error) return `could not be started: ${exit.error.message}`;
  return exit.signal ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`;
}

/** Whether a process of this number exists, ours or not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The system's name for an error; asked of any object, because tests have another class `Error` than Node's own. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Whether a promise settles within so many milliseconds. */
export async function endsWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
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

/** Sends a signal to whoever is still there to take it. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
}

function start({ command, args, cwd, env, stdio, user, orphanSignal }: ChildOptions): ChildProcess {
  if (hasSetpriv()) {
    // One call does both, in this order: changing the user would clear a death signal that was set before.
    const as = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : [];
    const tied = [...as, '--pdeathsig', orphanSignal.slice('SIG'.length), '--', command, ...args];
    return spawn('setpriv', tied, { cwd, env, stdio, detached: true });
  }
  const child = spawn(command, args, { cwd, env, stdio, detached: true, ...user });
  if (child.pid !== undefined) watchFor(child.pid, orphanSignal);
  return child;
}

let setpriv: boolean | undefined;
function hasSetpriv(): boolean {
  setpriv ??= (spawnSync('setpriv', ['--help'], { encoding: 'utf8' }).stdout ?? '').includes('--pdeathsig');
  return setpriv;
}

/** Stands in for the death signal where the system has none: looks every second whether we are still there. */
function watchFor(pid: number, signal: NodeJS.Signals): void {
  const script = 'while kill -0 "$1" 2>/dev/null; do kill -0 "$2" 2>/dev/null || exit 0; sleep 1; done; kill -"$3" "$2"';
  const watched = [String(process.pid), String(pid), signal.slice('SIG'.length)];
  spawn('/bin/sh', ['-c', script, 'watch', ...watched], { cwd: '/', detached: true, stdio: 'ignore' }).unref();
}
