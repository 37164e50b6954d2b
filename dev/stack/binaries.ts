import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const POSTGRES_AT_LEAST = 14;
const REDIS_AT_LEAST = 6.2;

/** A directory that holds a complete PostgreSQL server. */
export interface PostgresBinaries {
  readonly directory: string;
  readonly major: number;
}

/** Where package managers put PostgreSQL without putting it on the PATH: `<parent>/<entry>/bin`. */
const POSTGRES_HOMES: readonly (readonly [parent: string, entry: RegExp, bin: string])[] = [
  ['/usr/lib/postgresql', /^\d+$/, 'bin'],
  ['/usr', /^pgsql-\d+$/, 'bin'],
  ['/usr/libexec', /^postgresql\d*$/, ''],
  ['/opt/homebrew/opt', /^postgresql(@\d+)?$/, 'bin'],
  ['/usr/local/opt', /^postgresql(@\d+)?$/, 'bin'],
];

const POSTGRES_PROGRAMS = ['initdb', 'postgres', 'pg_ctl', 'psql'];

/**
 * The newest PostgreSQL here, or the one of a given major version. Only a directory with every program counts: single
 * programs on the PATH may belong to something else, so those are followed to where they really live.
 */
export function findPostgres(major?: number): PostgresBinaries | undefined {
  const directories = new Set<string>();
  for (const [parent, entry, bin] of POSTGRES_HOMES) {
    for (const name of list(parent)) if (entry.test(name)) directories.add(real(join(parent, name, bin)));
  }
  for (const directory of searchPath()) {
    const initdb = join(directory, 'initdb');
    if (existsSync(initdb)) directories.add(dirname(real(initdb))).add(real(directory));
  }
  return [...directories]
    .filter((directory) => POSTGRES_PROGRAMS.every((program) => existsSync(join(directory, program))))
    .map((directory) => ({ directory, major: Math.floor(version(join(directory, 'postgres'), /(\d+(\.\d+)?)/)) }))
    .filter((found) => (major === undefined ? found.major >= POSTGRES_AT_LEAST : found.major === major))
    .sort((a, b) => b.major - a.major)[0];
}

/** The first redis-server on the PATH, or in the usual places beside it, that is new enough. */
export function findRedis(): string | undefined {
  return searchPath()
    .map((directory) => join(directory, 'redis-server'))
    .find((program) => existsSync(program) && version(program, /v=(\d+\.\d+)/) >= REDIS_AT_LEAST);
}

/** What has to be installed before PostgreSQL and Redis can be started here; what a URL names is not needed. */
export function missingPackages(env: NodeJS.ProcessEnv): string[] {
  const missing: string[] = [];
  if (!env.DATABASE_URL && !findPostgres()) missing.push('postgresql');
  if (!env.REDIS_URL && !findRedis()) missing.push('redis-server');
  return missing;
}

/** Runs a short program and returns what it printed; throws with its complaint when it fails. */
export function output(command: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): string {
  const result = spawnSync(command, args, { ...options, encoding: 'utf8' });
  if (result.error) throw result.error;
  if (result.status !== 0) throw new Error(`${command} failed: ${(result.stderr || result.stdout).trim()}`);
  return result.stdout.trim();
}

function searchPath(): string[] {
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

// bin/setup asks this way what to install, so that what is looked for stands in one place.
if (import.meta.main) console.log(missingPackages(process.env).join(' '));
