import { endsWithin } from './child.ts';

/** Something that runs until it is stopped. */
export interface Part {
  readonly name: string;
  /** Resolves only when it goes without having been asked to, saying how. */
  readonly died: Promise<string>;
  stop(): Promise<void>;
}

/** How `supervise` is to speak and to end. */
export interface SuperviseOptions {
  readonly say: (line: string) => void;
  /** The exit code after a signal. */
  readonly interruptedCode: (signal: NodeJS.Signals) => number;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Terminals and npm may both pass the same Ctrl-C on to us: this close together it is one. */
const SAME_KEYPRESS = 500;

/** A start that was interrupted is waited for, so that there is something whole to stop. */
const START_PATIENCE = 30_000;

/** Keeps parts running together: when one goes, or we are told to, all of them go, in the reverse order of their start. */
export class Supervisor {
  /** The exit code, once it is decided that everything ends. */
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

  /** Whether everything is about to end, or has. */
  get isEnding(): boolean {
    return this.#code !== undefined;
  }

  /** Starts a part and keeps an eye on it; one that is started later is stopped earlier. */
  async start<P extends Part>(begin: () => P | Promise<P>): Promise<P> {
    const [part] = await this.startTogether([begin]);
    if (!part) throw new Error('nothing was started');
    return part;
  }

  /** Starts parts of equal standing, which are stopped at the same time, too. */
  async startTogether<P extends Part>(begins: readonly (() => P | Promise<P>)[]): Promise<P[]> {
    this.#refuseWhenEnding();
    const stage: P[] = [];
    this.afterwards(async () => {
      await Promise.all(stage.map((part) => part.stop()));
    });
    const started = begins.map(async (begin) => {
      const part = await begin();
      stage.push(part);
      void part.died.then((how) => this.end(1, `${part.name} ${how}`));
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
    if (this.isEnding) throw new Error('stopped before everything had started');
  }

  /** Does something after all that is started from now on has stopped. */
  afterwards(undo: () => Promise<void> | void): void {
    this.#undo.push(async () => undo());
  }

  /** Ends everything with an exit code; the first reason is the one that counts. */
  end(code: number, reason: string): void {
    if (this.isEnding) return;
    this.#code = code;
    this.#say(reason);
    this.#end(code);
  }

  /** Stops everything; returns whether all of it went without an error. */
  async stop(): Promise<boolean> {
    this.#code ??= 0;
    await endsWithin(Promise.all(this.#starting), START_PATIENCE);
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
 * Does `work` with a supervisor, and returns the exit code when the work is done, a part has died or a signal came:
 * by then everything it started has stopped. A second Ctrl-C does not wait.
 */
export async function supervise(work: (stack: Supervisor) => Promise<number>, options: SuperviseOptions): Promise<number> {
  const stack = new Supervisor(options.say);
  let interruptedAt = 0;
  const interrupt = (signal: NodeJS.Signals): void => {
    if (interruptedAt === 0) {
      interruptedAt = Date.now();
      stack.end(options.interruptedCode(signal), 'Stopping; once more to force it.');
    } else if (Date.now() - interruptedAt > SAME_KEYPRESS) {
      options.say('Forced to stop.');
      process.exit(1);
    }
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  process.on('uncaughtException', (error) => stack.end(1, messageOf(error, true)));
  // A closed terminal or pipe takes no more output; that alone is no reason to leave anything running.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stack.end(1, 'The output was closed.'));

  // Servers keep nobody waiting; their supervisor stays for as long as they do.
  const vigil = setInterval(() => {}, 60_000);
  const finished = work(stack).catch((error: unknown) => {
    stack.end(1, messageOf(error));
    return 1;
  });
  const code = await Promise.race([stack.ended, finished]);
  const isClean = await stack.stop();
  clearInterval(vigil);
  return isClean ? code : Math.max(code, 1);
}

function messageOf(error: unknown, withStack = false): string {
  if (!(error instanceof Error)) return String(error);
  return withStack ? (error.stack ?? error.message) : error.message;
}
