import { closeSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { Child, describeExit, type StopSteps } from './child.ts';
import { claim, release } from './claim.ts';
import { ensureCluster, PORT, postgresEnvironment, postgresFor, ROLE, settingsArguments } from './cluster.ts';
import { databaseUser, makeFolder, removeRunFolder, runFolder } from './folders.ts';
import { endLeftovers } from './leftovers.ts';
import { logTail } from './logs.ts';
import type { Part } from './supervisor.ts';

/** Recovery of a data folder that was killed may take a while; a fresh start takes a tenth of a second. */
const READY_WITHIN = 120_000;

/** Fast: open transactions are rolled back. Then immediate: the next start recovers. */
const STOP_STEPS: StopSteps = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 5_000],
];

/** What to start. */
export interface PostgresOptions {
  /** Private to this server; made when missing. */
  readonly folder: string;
  /** true: a commit survives a power cut. false: for tests, nothing waits for the disk. */
  readonly durable: boolean;
  /** Created when missing; `coinop` unless told otherwise. */
  readonly database?: string;
}

/** A PostgreSQL of our own. */
export interface Postgres extends Part {
  readonly url: string;
  readonly pid: number;
  /** Holds psql and the other tools of this version. */
  readonly binaries: string;
  /** Creates a database unless it is there, and returns its URL. */
  ensureDatabase(database: string): string;
}

/**
 * Starts a private PostgreSQL, reached only through a unix socket in a closed folder. Whatever an earlier run left
 * behind in its folder (a living server, a stale lock, half a data folder) is put in order first.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const user = databaseUser();
  makeFolder(options.folder, 0o700, user);
  const folder = realpathSync(options.folder);
  await claim(folder);
  try {
    const data = join(folder, 'data');
    const run = runFolder(folder, user);
    const log = join(folder, 'log');
    await endLeftoverPostgres(folder);
    const binaries = postgresFor(data);
    await ensureCluster(binaries, data, options.durable, user);
    const logFile = openSync(log, 'w', 0o600);
    const server = new Child({
      command: join(binaries.directory, 'postgres'),
      args: ['-D', data, '-k', run, ...settingsArguments(options.durable)],
      cwd: folder,
      env: postgresEnvironment(),
      stdio: ['ignore', logFile, logFile],
      user,
      orphanSignal: 'SIGINT',
      exitSignal: 'SIGQUIT',
    });
    closeSync(logFile);
    let isStopping = false;
    const died = new Promise<string>((resolve) => {
      void server.exited.then((exit) => {
        if (!isStopping) resolve(`${describeExit(exit)}; the end of ${log}:\n${logTail(log)}`);
      });
    });
    const stop = async (): Promise<void> => {
      isStopping = true;
      await server.stop(STOP_STEPS);
      removeRunFolder(folder);
      release(folder);
    };
    const ensureDatabase = (database: string): string => {
      createDatabase(join(binaries.directory, 'psql'), folder, run, database);
      return urlOf(run, database);
    };
    try {
      const failure = await Promise.race([died, ready(server, data)]);
      if (failure !== undefined) throw new Error(`PostgreSQL ${failure}`);
      const url = ensureDatabase(options.database ?? 'coinop');
      server.unref();
      return { name: 'postgres', url, pid: server.pid, binaries: binaries.directory, died, stop, ensureDatabase };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    release(folder);
    throw error;
  }
}

/** Stops the server that a run which was killed has left in a folder. */
export async function endLeftoverPostgres(folder: string): Promise<void> {
  const data = join(folder, 'data');
  await endLeftovers({ folder: data, pidFile: join(data, 'postmaster.pid'), program: /^postgres/, marks: [data], stop: STOP_STEPS });
  // Nobody is left to own the socket; its lock would still be believed if the number in it belonged to someone.
  const socket = join(folder, 'run', `.s.PGSQL.${PORT}`);
  for (const file of [socket, `${socket}.lock`]) rmSync(file, { force: true });
}

/** The same place for every client: libpq, node-postgres and MikroORM all take a folder, escaped, as the host. */
function urlOf(run: string, database: string): string {
  return `postgresql://${ROLE}@${encodeURIComponent(run)}:${PORT}/${encodeURIComponent(database)}`;
}

/** Waits as pg_ctl does: the server notes in its lock file that it takes connections. */
async function ready(server: Child, data: string): Promise<string | undefined> {
  const end = Date.now() + READY_WITHIN;
  while (Date.now() < end) {
    const lines = readLines(join(data, 'postmaster.pid'));
    if (Number(lines[0]) === server.pid && lines[7]?.trim() === 'ready') return undefined;
    await sleep(20);
    if (!server.isRunning) return new Promise(() => {});
  }
  return `took no connections for ${READY_WITHIN / 1000} seconds`;
}

function createDatabase(psql: string, cwd: string, run: string, database: string): void {
  const ask = (sql: string): string => {
    const url = urlOf(run, 'postgres');
    return output(psql, ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', sql, url], { cwd, env: postgresEnvironment() });
  };
  if (!/^[\w-]+$/.test(database)) throw new Error(`A database's name is letters, digits, _ and -, unlike ${JSON.stringify(database)}`);
  if (ask(`SELECT 1 FROM pg_database WHERE datname = '${database}'`) === '') ask(`CREATE DATABASE "${database}"`);
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
