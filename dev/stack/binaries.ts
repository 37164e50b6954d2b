import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const MIN_POSTGRES_VERSION = 14;
const MIN_REDIS_VERSION = 6.2;

/** A directory that contains all required PostgreSQL programs, and the major version of these programs. */
export interface PostgresBinaries {
  readonly directory: string;
  readonly major: number;
}

/** Directories in which package managers install PostgreSQL outside of the PATH: `<parent>/<entry>/<bin>`. */
const POSTGRES_DIRECTORIES: readonly (readonly [parent: string, entry: RegExp, bin: string])[] = [
  ['/usr/lib/postgresql', /^\d+$/, 'bin'],
  ['/usr', /^pgsql-\d+$/, 'bin'],
  ['/usr/libexec', /^postgresql\d*$/, ''],
  ['/opt/homebrew/opt', /^postgresql(@\d+)?$/, 'bin'],
  ['/usr/local/opt', /^postgresql(@\d+)?$/, 'bin'],
];

const POSTGRES_PROGRAMS = ['initdb', 'postgres', 'pg_ctl', 'psql'];

/**
 * Returns the directory of the newest installed PostgreSQL or, if `major` is given, of a PostgreSQL with this major version. Skips a directory in
 * which a required program is missing. If `initdb` on the PATH is a symbolic link, also searches the directory of the link's target, because the
 * other programs may be only there.
 */
export function findPostgres(major?: number): PostgresBinaries | undefined {
  const directories = new Set<string>();
  for (const [parent, entry, bin] of POSTGRES_DIRECTORIES) {
    for (const name of list(parent)) if (entry.test(name)) directories.add(real(join(parent, name, bin)));
  }
  for (const directory of searchPath()) {
    const initdb = join(directory, 'initdb');
    if (existsSync(initdb)) directories.add(dirname(real(initdb))).add(real(directory));
  }
  return [...directories]
    .filter((directory) => POSTGRES_PROGRAMS.every((program) => existsSync(join(directory, program))))
    .map((directory) => ({ directory, major: Math.floor(version(join(directory, 'postgres'), /(\d+(\.\d+)?)/)) }))
    .filter((found) => (major === undefined ? found.major >= MIN_POSTGRES_VERSION : found.major === major))
    .sort((a, b) => b.major - a.major)[0];
}

/** Returns the first redis-server of version 6.2 or newer on the PATH or in the usual system directories. */
export function findRedis(): string | undefined {
  return searchPath()
    .map((directory) => join(directory, 'redis-server'))
    .find((program) => existsSync(program) && version(program, /v=(\d+\.\d+)/) >= MIN_REDIS_VERSION);
}

/**
 * Returns the names of the system packages that `bin/dev` needs and that are not installed. If DATABASE_URL is set, PostgreSQL is not needed; if
 * REDIS_URL is set, Redis is not needed.
 */
function missingPackages(env: NodeJS.ProcessEnv): string[] {
  const missing: string[] = [];
  if (!env.DATABASE_URL && !findPostgres()) missing.push('postgresql');
  if (!env.REDIS_URL && !findRedis()) missing.push('redis-server');
  return missing;
}

/**
 * Runs a program, waits until it exits, and returns its standard output.
 * @throws when the program fails; the message contains its error output
 */
export function output(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number } = {},
): string {
  const result = spawnSync(command, args, { ...options, encoding: 'utf8' });
  if (result.error) throw result.error;
  if (result.status !== 0) throw new Error(`${command} failed: ${(result.stderr || result.stdout).trim()}`);
  return result.stdout.trim();
}

/** Returns the directories of the PATH, and the usual system directories. */
export function searchPath(): string[] {
  const usual = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/opt/homebrew/bin'];
  return [...new Set([...(process.env.PATH ?? '').split(delimiter).filter((entry) => entry !== ''), ...usual])];
}

function version(program: string, pattern: RegExp): number {
  const printed = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  return Number(pattern.exec(printed)?.[1] ?? 0);
}

function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function real(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

// bin/setup runs this file to learn which packages to install.
if (import.meta.main) console.log(missingPackages(process.env).join(' '));
