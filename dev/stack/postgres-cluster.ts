import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPostgres, output, type PostgresBinaries } from './binaries.ts';
import { Child, describeExit, type Identity } from './child.ts';

/** The role that owns all database objects and runs the migrations. */
export const ROLE = 'coinop';

/** The role of the API and the workers. The migrations grant it only the rights that the service needs. */
export const SERVICE_ROLE = 'coinop_service';

/** Port number, used only in the file name of the unix socket. PostgreSQL opens no TCP port. */
export const PORT = '5432';

const COMMON_SETTINGS = {
  timezone: 'UTC',
  log_timezone: 'UTC',
  // PostgreSQL writes its log to standard error, which the parent process redirects to the log file.
  logging_collector: 'off',
  log_min_messages: 'warning',
  // Each API and worker process has its own connection pool, so this maximum is higher than PostgreSQL's default of 100.
  max_connections: '200',
  // The queries of the service are short: JIT compilation would take longer than it saves.
  jit: 'off',
  random_page_cost: '1.1',
  work_mem: '8MB',
};

const SHARED_SETTINGS = { ...COMMON_SETTINGS, listen_addresses: '', port: PORT, unix_socket_permissions: '0700' };

/**
 * Settings for data that must survive a power cut. They are as in production, so that benchmarks are realistic. The memory sizes and
 * worker counts are for a machine with two cores.
 */
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

/** Settings for data that is deleted after the run: commits do not wait for the disk, and the write-ahead log is minimal. */
const EPHEMERAL_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
};

/**
 * Settings of a replicated server in tests: a commit survives a kill of the server, because the operating system keeps the written files, but no power
 * cut. pg_rewind needs `full_page_writes`.
 */
export const REPLICATED_SETTINGS = {
  ...COMMON_SETTINGS,
  fsync: 'off',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_level: 'replica',
  max_wal_senders: '5',
  shared_buffers: '128MB',
};

/**
 * Returns the PostgreSQL settings as command line arguments. They are not stored in the data folder, so a changed setting applies at the next start.
 */
export function settingsArguments(durable: boolean, others: Readonly<Record<string, string>> = {}): string[] {
  const settings = { ...SHARED_SETTINGS, ...(durable ? DURABLE_SETTINGS : EPHEMERAL_SETTINGS), ...others };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Returns the environment of the PostgreSQL programs. It omits the caller's PGHOST, PGDATA, PGOPTIONS, locale and time zone. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * Returns the installed PostgreSQL of the version that created the data folder, or the newest installed PostgreSQL if the folder does not exist.
 * @throws when this PostgreSQL is not installed
 */
export function postgresFor(data: string): PostgresBinaries {
  const versionFile = join(data, 'PG_VERSION');
  const major = existsSync(versionFile) ? Number(readFileSync(versionFile, 'utf8').trim()) : undefined;
  const found = findPostgres(major);
  if (found) return found;
  if (major === undefined) throw new Error('PostgreSQL (14 or newer) is not installed: run bin/setup');
  throw new Error(`PostgreSQL ${major} created ${data}, but this version is not installed: install it, or delete the folder with its data`);
}

/**
 * Creates the data folder if it is missing. Creates it under another name and renames it at the end, so that an interrupted call leaves no incomplete
 * data folder.
 */
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
  let errorOutput = '';
  initdb.process.stdout?.resume();
  initdb.process.stderr?.on('data', (chunk) => (errorOutput += String(chunk)));
  const exit = await initdb.exited;
  if (exit.code !== 0) throw new Error(`initdb ${describeExit(exit)}\n${errorOutput.trim()}`);
  // Clients of the unix socket need no password, because the permissions of the socket's folder exclude other users.
  const accessRules = join(unfinished, 'pg_hba.conf');
  writeFileSync(accessRules, 'local all all trust\nlocal replication all trust\n', { mode: 0o600 });
  if (user) chownSync(accessRules, user.uid, user.gid);
  renameSync(unfinished, data);
}

/** Returns whether a data folder belongs to a standby. */
export const isStandby = (data: string): boolean => existsSync(join(data, 'standby.signal'));

/** Copies the data of a running server for a standby that replicates from it. Does nothing if the data folder exists. */
export function copyData(binaries: PostgresBinaries, url: string, data: string, user: Identity | undefined): void {
  if (existsSync(join(data, 'PG_VERSION'))) return;
  const args = ['--pgdata', data, '--write-recovery-conf', '--checkpoint=fast', '--dbname', url];
  output(join(binaries.directory, 'pg_basebackup'), args, { cwd: join(data, '..'), env: postgresEnvironment(), ...user });
}
