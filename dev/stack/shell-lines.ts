import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Name of the variable that lists the other variables of the lines, so that `bin/dev` recognises its own values in the environment. */
const NAMES = 'COINOP_DEV_VARIABLES';

/** A variable that the commands of the documents need. */
export interface ShellVariable {
  readonly name: string;
  readonly value: string;
  /** Whether the caller of `bin/dev` set this variable. Its value may contain a password, so `bin/dev` writes it to the file and never prints it. */
  readonly isGiven?: boolean;
  /** Whether the line is printed. The other lines are only in the file. */
  readonly isPrinted?: boolean;
}

/** Returns `export` lines that a shell can read. */
function exportLines(variables: readonly ShellVariable[]): string {
  return variables.map(({ name, value }) => `export ${name}=${quoted(value)}\n`).join('');
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Returns the lines that `bin/dev` prints: the printed variables without the values of the caller. */
export const printedLines = (variables: readonly ShellVariable[]): string =>
  exportLines(variables.filter(({ isGiven, isPrinted }) => isPrinted && !isGiven));

/** Writes all variables to a file that only the current user can read, and creates its folder if it is missing. A shell that sources the file never reads an incomplete file. */
export function writeShellFile(file: string, variables: readonly ShellVariable[]): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  const own = variables.filter(({ isGiven }) => !isGiven).map(({ name }) => name);
  writeFileSync(`${file}.new`, exportLines([...variables, { name: NAMES, value: own.join(' ') }]), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/**
 * Returns the environment without the values that an earlier `bin/dev` chose. Otherwise `bin/dev` in a shell that sourced the file would look for
 * the servers of the earlier run, which have stopped.
 */
export function withoutEarlierLines(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = new Set([NAMES, ...(env[NAMES]?.split(' ') ?? [])]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.has(name)));
}
