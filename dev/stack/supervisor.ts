import { settlesWithin } from './child.ts';

/** A server or process that runs until it is stopped. */
export interface StackPart {
  readonly name: string;
  /** Resolves with the reason if the part ends although `stop` was not called. Otherwise never settles. */
  readonly died: Promise<string>;
  stop(): Promise<void>;
}

export interface SuperviseOptions {
  readonly print: (line: string) => void;
  /** Returns the exit code of a run that was ended by `signal`. */
  readonly interruptedCode: (signal: NodeJS.Signals) => number;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Time within which repeated signals count as one, ms. The terminal and npm may both forward the same Ctrl-C. */
const SAME_KEYPRESS_MS = 500;

/** Maximum time that `stop` waits for parts that are still starting, ms. Only a part that has started can be stopped cleanly. */
const START_TIMEOUT_MS = 30_000;

/** Starts servers and processes ("parts"), watches them, and stops them in the reverse order of their start. */
export class Supervisor {
  /** Resolves with the exit code at the first call of `end`. The supervisor calls `end` itself when a part ends unexpectedly. */
  readonly ended: Promise<number>;
  readonly #say: (line: string) => void;
  readonly #end: (code: number) => void;
  readonly #undo: (() => Promise<void>)[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #code: number | undefined;

  constructor(say: (line: string) => void) {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.ended = promise;
    this.#end = resolve;
    this.#say = say;
  }

  /** Whether the supervisor is stopping or has stopped. */
  get isEnding(): boolean {
    return this.#code !== undefined;
  }

  /** Starts a part and watches it. `stop` stops the parts in the reverse order of their start. */
  async start<P extends StackPart>(begin: () => P | Promise<P>): Promise<P> {
    const [part] = await this.startTogether([begin]);
    if (!part) throw new Error('startTogether returned nothing for the process that it was asked to start');
    return part;
  }

  /** Starts several parts at the same time. They are also stopped at the same time. */
  async startTogether<P extends StackPart>(begins: readonly (() => P | Promise<P>)[]): Promise<P[]> {
    this.#refuseWhenEnding();
    const stage: P[] = [];
    this.onStop(async () => {
      await Promise.all(stage.map((part) => part.stop()));
    });
    const started = begins.map(async (begin) => {
      const part = await begin();
      stage.push(part);
      const end = (how: unknown) => this.end(1, `${part.name} ${how}`);
      part.died.then(end, end);
      return part;
    });
    const all = Promise.allSettled(started);
    this.#starting.add(all);
    await all;
    this.#starting.delete(all);
    const parts = await Promise.all(started);
    this.#refuseWhenEnding();
    return parts;
  }

  #refuseWhenEnding(): void {
    if (this.isEnding) throw new Error('the system was stopped before all its processes had started');
  }

  /** Registers a cleanup function. `stop` calls it after it has stopped all parts that were started later. */
  onStop(undo: () => Promise<void> | void): void {
    this.#undo.push(async () => undo());
  }

  /** Resolves `ended`, so that `supervise` stops all parts. The first call sets the exit code and prints `reason`; later calls do nothing. */
  end(code: number, reason: string): void {
    if (this.isEnding) return;
    this.#code = code;
    this.#say(reason);
    this.#end(code);
  }

  /** Stops all parts. @returns whether all of them stopped without an error */
  async stop(): Promise<boolean> {
    this.#code ??= 0;
    await settlesWithin(Promise.all(this.#starting), START_TIMEOUT_MS);
    let isClean = true;
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop()) {
      try {
        await undo();
      } catch (error) {
        isClean = false;
        this.#say(messageOf(error));
      }
    }
    return isClean;
  }
}

/**
 * Runs `work` with a supervisor. Stops all processes of the supervisor when `work` is done, when one of them ends, or when a signal arrives. A second
 * Ctrl-C exits this process at once.
 * @returns the exit code
 */
export async function supervise(work: (stack: Supervisor) => Promise<number>, options: SuperviseOptions): Promise<number> {
  const stack = new Supervisor(options.print);
  let interruptedAt = 0;
  const interrupt = (signal: NodeJS.Signals): void => {
    if (interruptedAt === 0) {
      interruptedAt = Date.now();
      stack.end(options.interruptedCode(signal), 'Stopping. Press Ctrl-C again to exit at once.');
    } else if (Date.now() - interruptedAt > SAME_KEYPRESS_MS) {
      options.print('Exiting without waiting for the processes.');
      process.exit(1);
    }
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  process.on('uncaughtException', (error) => stack.end(1, messageOf(error, true)));
  // Writes fail after the terminal or the pipe is closed. Then all parts are stopped, so that no process continues to run.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stack.end(1, 'The output was closed.'));

  // Node.js exits when it has nothing to wait for, and it does not wait for the child processes of servers (`unref`). This timer keeps Node.js
  // running.
  const keepAlive = setInterval(() => {}, 60_000);
  const finished = work(stack).catch((error: unknown) => {
    stack.end(1, messageOf(error));
    return 1;
  });
  const code = await Promise.race([stack.ended, finished]);
  const isClean = await stack.stop();
  clearInterval(keepAlive);
  return isClean ? code : Math.max(code, 1);
}

function messageOf(error: unknown, withStack = false): string {
  if (!(error instanceof Error)) return String(error);
  return withStack ? (error.stack ?? error.message) : error.message;
}
