import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPostgres, type PostgresBinaries } from './binaries.ts';
import { Child, describeExit, type Identity } from './child.ts';

/** The only role, owner of everything. */
export const ROLE = 'coinop';

/** One fixed port: it is only part of the socket's name. */
export const PORT = '5432';

const SHARED_SETTINGS = {
  listen_addresses: '',
  port: PORT,
  unix_socket_permissions: '0700',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Standard error goes to a file of ours, which must not be redirected again.
  logging_collector: 'off',
  log_min_messages: 'warning',
  // Several API and worker processes with a pool each.
  max_connections: '200',
  // Short statements by the thousand: compiling them never pays.
  jit: 'off',
  random_page_cost: '1.1',
  work_mem: '8MB',
};

/** What a commit says is true after a power cut: figures measured on it mean something. Sized for two cores. */
const DURABLE_SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  maintenance_work_mem: '128MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  max_worker_processes: '4',
  max_parallel_workers: '2',
  max_parallel_workers_per_gather: '1',
};

/** The data goes with the run: nothing waits for the disk, and the log holds no more than a crash of a backend needs. */
const PASSING_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
};

/** The settings as command line arguments; kept out of the data folder, so that a new version of them simply applies. */
export function settingsArguments(durable: boolean): string[] {
  const settings = { ...SHARED_SETTINGS, ...(durable ? DURABLE_SETTINGS : PASSING_SETTINGS) };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Nothing of the caller's PGHOST, PGDATA, PGOPTIONS, locale or time zone reaches PostgreSQL. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/** The installed PostgreSQL that fits a data folder: the version that made it, or the newest for a new one. */
export function postgresFor(data: string): PostgresBinaries {
  const versionFile = join(data, 'PG_VERSION');
  const made = existsSync(versionFile) ? Number(readFileSync(versionFile, 'utf8').trim()) : undefined;
  const found = findPostgres(made);
  if (found) return found;
  if (made === undefined) throw new Error('PostgreSQL (14 or newer) is not installed: run bin/setup');
  throw new Error(`${data} was made by PostgreSQL ${made}, which is not installed here: install that version, or delete the folder to begin anew`);
}

/** Makes the data folder unless it is there. It appears under its name only when complete, so half of one never counts. */
export async function ensureCluster(binaries: PostgresBinaries, data: string, durable: boolean, user: Identity | undefined): Promise<void> {
  if (existsSync(join(data, 'PG_VERSION'))) return;
  const unfinished = `${data}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  const initdb = new Child({
    command: join(binaries.directory, 'initdb'),
    args: ['-D', unfinished, '-U', ROLE, '--encoding=UTF8', '--locale=C', '--auth=trust', ...(durable ? [] : ['--no-sync'])],
    cwd: join(data, '..'),
    env: postgresEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    user,
    orphanSignal: 'SIGTERM',
    exitSignal: 'SIGKILL',
  });
  let complaint = '';
  initdb.process.stdout?.resume();
  initdb.process.stderr?.on('data', (chunk) => (complaint += String(chunk)));
  const exit = await initdb.exited;
  if (exit.code !== 0) throw new Error(`initdb ${describeExit(exit)}\n${complaint.trim()}`);
  // Who can reach the socket may come in, and its folder lets in only us; there is no other door.
  const doors = join(unfinished, 'pg_hba.conf');
  writeFileSync(doors, 'local all all trust\n', { mode: 0o600 });
  if (user) chownSync(doors, user.uid, user.gid);
  renameSync(unfinished, data);
}
