import { closeSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { Child, describeExit, type Identity, type StopSteps } from './child.ts';
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

/** Immediate. Killed outright, it would leave processes behind that hold its memory. */
const CRASH_STEPS: StopSteps = [['SIGQUIT', 20_000]];

/** What to start. */
export interface PostgresOptions {
  /** Private to this server; made when missing. */
  readonly folder: string;
  /** true: a commit survives a power cut. false: for tests, nothing waits for the disk. */
  readonly durable: boolean;
  /** Created when missing; `coinop` unless told otherwise. */
  readonly database?: string;
}

/** A PostgreSQL of our own, at one address for all of its lives. */
export interface Postgres extends Part {
  readonly url: string;
  readonly pid: number;
  /** Holds psql and the other tools of this version. */
  readonly binaries: string;
  /** Creates a database unless it is there, and returns its URL. */
  ensureDatabase(database: string): string;
  /** Ends it as a crash would: nothing is rolled back or written first, and the next start recovers. */
  kill(): Promise<void>;
  /** Starts it again after a kill, or stops it first. */
  restart(): Promise<void>;
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
    const server = new PostgresServer(folder, options, user);
    await server.start();
    return server;
  } catch (error) {
    removeRunFolder(folder);
    release(folder);
    throw error;
  }
}

class PostgresServer implements Postgres {
  readonly name = 'postgres';
  readonly died: Promise<string>;
  readonly #folder: string;
  readonly #data: string;
  readonly #run: string;
  readonly #log: string;
  readonly #durable: boolean;
  readonly #database: string;
  readonly #user: Identity | undefined;
  readonly #reportDeath: (how: string) => void;
  #binaries = '';
  /** The one that is meant to be running: the end of any other is no news. */
  #server: Child | undefined;

  constructor(folder: string, { durable, database = 'coinop' }: PostgresOptions, user: Identity | undefined) {
    this.#folder = folder;
    this.#data = join(folder, 'data');
    this.#run = runFolder(folder, user);
    this.#log = join(folder, 'log');
    this.#durable = durable;
    this.#database = database;
    this.#user = user;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.died = promise;
    this.#reportDeath = resolve;
  }

  get url(): string {
    return urlOf(this.#run, this.#database);
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  get binaries(): string {
    return this.#binaries;
  }

  async start(): Promise<void> {
    await endLeftoverPostgres(this.#folder);
    const binaries = postgresFor(this.#data);
    this.#binaries = binaries.directory;
    await ensureCluster(binaries, this.#data, this.#durable, this.#user);
    const logFile = openSync(this.#log, 'w', 0o600);
    const server = new Child({
      command: join(binaries.directory, 'postgres'),
      args: ['-D', this.#data, '-k', this.#run, ...settingsArguments(this.#durable)],
      cwd: this.#folder,
      env: postgresEnvironment(),
      stdio: ['ignore', logFile, logFile],
      user: this.#user,
      orphanSignal: 'SIGINT',
      exitSignal: 'SIGQUIT',
    });
    closeSync(logFile);
    this.#server = server;
    const end = server.exited.then((exit) => `${describeExit(exit)}; the end of ${this.#log}:\n${logTail(this.#log)}`);
    try {
      const failure = await Promise.race([end, ready(server, this.#data)]);
      if (failure !== undefined) throw new Error(`PostgreSQL ${failure}`);
      this.ensureDatabase(this.#database);
    } catch (error) {
      await this.#end(STOP_STEPS);
      throw error;
    }
    server.unref();
    void end.then((how) => {
      if (this.#server === server) this.#reportDeath(how);
    });
  }

  ensureDatabase(database: string): string {
    createDatabase(join(this.#binaries, 'psql'), this.#folder, this.#run, database);
    return urlOf(this.#run, database);
  }

  async stop(): Promise<void> {
    await this.#end(STOP_STEPS);
    removeRunFolder(this.#folder);
    release(this.#folder);
  }

  async kill(): Promise<void> {
    await this.#end(CRASH_STEPS);
  }

  async restart(): Promise<void> {
    await this.#end(STOP_STEPS);
    await this.start();
  }

  async #end(steps: StopSteps): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.stop(steps);
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
