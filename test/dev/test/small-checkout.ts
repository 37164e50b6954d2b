import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** The result of a command. */
export interface CommandResult {
  readonly code: number | null;
  /** What the command printed on its standard output. */
  readonly text: string;
  readonly errors: string;
  readonly lastLine: string;
}

/** A command that runs. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly done: Promise<CommandResult>;
  /** Resolves when the command has printed a text. @throws when the command ends before */
  printed(text: string): Promise<void>;
}

/** A checkout with the code of `bin/test` and `bin/dev`, and with sources, tests and checks of its own. */
export class SmallCheckout {
  readonly path = mkdtempSync(join(tmpdir(), 'coinop-checkout-'));

  /**
   * @param files the files of the checkout besides its commands
   * @param linked folders that are symbolic links to the folders of the real checkout
   */
  constructor(files: Readonly<Record<string, string>>, linked: readonly string[] = []) {
    for (const part of ['bin', 'dev', 'test/support', 'jest.config.js']) {
      cpSync(join(root, part), join(this.path, part), { recursive: true });
    }
    // PostgreSQL's user must be able to enter the folder.
    chmodSync(this.path, 0o711);
    mkdirSync(join(this.path, 'src'));
    for (const folder of ['node_modules', ...linked]) symlinkSync(join(root, folder), join(this.path, folder));
    const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    // The packages are those of the real checkout, so nothing may be installed.
    this.write('bin/setup', '#!/bin/sh\n');
    // This check fails, so that tests can tell whether it ran.
    this.write('package.json', JSON.stringify({ type: 'module', imports, scripts: { check: 'echo CHECKED && exit 1' } }));
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  write(path: string, text: string): void {
    const file = join(this.path, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Starts `bin/test`. */
  start(...args: string[]): RunningCommand {
    return this.startCommand('bin/test', args);
  }

  /** Starts a command of the checkout. */
  startCommand(command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): RunningCommand {
    // The variables of the outer run would change the inner run.
    const { NODE_V8_COVERAGE: _coverage, TEST_SERVERS: _servers, ...outer } = process.env;
    const child = spawn(join(this.path, command), args, { cwd: this.path, env: { ...outer, ...variables }, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    let errors = '';
    const waiting: (() => void)[] = [];
    child.stdout.on('data', (chunk) => {
      text += String(chunk);
      for (const check of waiting) check();
    });
    child.stderr.on('data', (chunk) => {
      errors += String(chunk);
      for (const check of waiting) check();
    });
    const done = once(child, 'close').then(([code]) => ({ code, text, errors, lastLine: text.trimEnd().split('\n').at(-1) ?? '' }));
    return {
      child,
      done,
      printed: (wanted) =>
        new Promise((resolve, reject) => {
          child.once('close', () => reject(new Error(`${command} ended before it printed ${JSON.stringify(wanted)}: ${text}${errors}`)));
          const check = () => {
            if (text.includes(wanted) || errors.includes(wanted)) resolve();
          };
          waiting.push(check);
          check();
        }),
    };
  }

  /** Runs `bin/test` and waits until it has ended. */
  run(...args: string[]): Promise<CommandResult> {
    return this.start(...args).done;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
