import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { styleText } from 'node:util';
import { prettyFactory } from 'pino-pretty';

/** Log levels, lowest first. */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

const COLOURS = ['cyan', 'yellow', 'green', 'magenta', 'blue'] as const;

/** Prints the output of several processes to one terminal. Each line begins with the name of its process. */
export class ProcessOutput {
  readonly #names: string[] = [];
  readonly #width: number;
  readonly #least: number;
  readonly #onLine: (name: string, line: string) => void;
  readonly #pretty = prettyFactory({
    colorize: process.stdout.hasColors?.() ?? false,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    singleLine: true,
  });

  /**
   * @param width the width of the column with the names
   * @param level the lowest log level to print, such as `error`; log lines of lower levels are dropped
   * @param onLine receives each line of a process, also the dropped lines
   */
  constructor(width: number, level = 'trace', onLine: (name: string, line: string) => void = () => undefined) {
    this.#width = width;
    this.#onLine = onLine;
    this.#least = LEVELS.indexOf(level);
  }

  /** Prints text. Each printed line begins with the name of the process. */
  print(name: string, text: string): void {
    const label = this.#label(name);
    for (const line of text.split('\n')) process.stdout.write(`${label} ${line}\n`);
  }

  /** Prints the lines of a process's output stream and formats JSON log lines. Resolves at the end of the stream. */
  follow(name: string, stream: Readable): Promise<void> {
    return new Promise((resolve) => {
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
        .on('line', (line) => {
          this.#onLine(name, line);
          if (!this.#isDropped(line)) this.print(name, this.#readable(line));
        })
        .once('close', resolve);
    });
  }

  #isDropped(line: string): boolean {
    const level = LEVELS.indexOf(/^\{"level":"(\w+)"/.exec(line)?.[1] ?? '');
    return level >= 0 && level < this.#least;
  }

  #readable(line: string): string {
    return line.startsWith('{') ? this.#pretty(line).trimEnd() : line;
  }

  #label(name: string): string {
    if (!this.#names.includes(name)) this.#names.push(name);
    const colour = COLOURS[this.#names.indexOf(name) % COLOURS.length] ?? 'white';
    return styleText(colour, `${name.padEnd(this.#width)} │`, { stream: process.stdout });
  }
}

/** Returns the last lines of a log file. */
export function logTail(file: string, lines = 15): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '(no log)';
  }
}
