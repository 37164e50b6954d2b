import { closeSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { Child, describeExit, type Identity, type StopSteps } from './child.ts';
import { lockFolder, unlockFolder } from './folder-lock.ts';
import { databaseUser, makeFolder, removeSocketFolder, socketFolder } from './folders.ts';
import { logTail } from './logs.ts';
import { stopOrphans } from './orphans.ts';
import {
  copyData,
  ensureCluster,
  isStandby,
  PORT,
  postgresEnvironment,
  postgresFor,
  ROLE,
  SERVICE_ROLE,
  settingsArguments,
} from './postgres-cluster.ts';
import type { StackPart } from './supervisor.ts';

/** Start timeout, ms. A normal start takes 100 ms; the recovery after a kill takes longer. */
const READY_WITHIN = 120_000;

/**
 * Signals that stop PostgreSQL. SIGINT requests a fast shutdown, which rolls back open transactions. SIGQUIT requests an immediate shutdown, after
 * which the next start recovers the data.
 */
const STOP_STEPS: StopSteps = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 5_000],
];

/** Signal that simulates a crash: an immediate shutdown. After SIGKILL, PostgreSQL's child processes could continue and hold the shared memory. */
const CRASH_STEPS: StopSteps = [['SIGQUIT', 20_000]];

export interface PostgresOptions {
  /** Data folder, used by this server only; created if missing. */
  readonly folder: string;
  /** Whether commits survive a power cut. If false, commits do not wait for the disk, which makes tests faster. */
  readonly durable: boolean;
  /** Database to create if missing (default `coinop`). */
  readonly database?: string;
  /** Further settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The server whose data this server copies and replicates; it must be durable. This server has its databases and roles, and accepts no writes. */
  readonly standbyOf?: Postgres;
}

/** A private PostgreSQL server. Its URL does not change at a restart. */
export interface Postgres extends StackPart {
  /** URL with the role that owns the database. */
  readonly url: string;
  /** URL with the role of the service, which has the rights that the migrations grant. */
  readonly serviceUrl: string;
  readonly pid: number;
  /** Directory of psql and the other PostgreSQL programs of the server's version. */
  readonly binaries: string;
  /**
   * Creates a database if it is missing.
   * @returns the URL of the database
   */
  ensureDatabase(database: string): string;
  /** Makes the standby the primary, without a failure. Undefined if the server has no standby. */
  switchover?(): Promise<void>;
  /** Ends the processes of the server as in a crash, but the server starts again by itself. Undefined if the server has no standby. */
  crash?(): Promise<void>;
  /** Ends the server as in a crash, without rollback or checkpoint. The next start recovers the data. */
  kill(): Promise<void>;
  /** Stops the server if it runs, then starts it. */
  restart(): Promise<void>;
}

/**
 * Starts a private PostgreSQL that listens only on a unix socket in a folder of mode 0700. First removes the remains of a killed run: a running
 * server, a lock whose owner has ended, an incomplete data folder.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const user = databaseUser();
  makeFolder(options.folder, 0o700, user);
  const folder = realpathSync(options.folder);
  await lockFolder(folder);
  try {
    const server = new PostgresServer(folder, options, user);
    await server.start();
    return server;
  } catch (error) {
    removeSocketFolder(folder);
    unlockFolder(folder);
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
  readonly #settings: Readonly<Record<string, string>>;
  readonly #standbyOf: Postgres | undefined;
  readonly #database: string;
  readonly #user: Identity | undefined;
  readonly #reportDeath: (how: string) => void;
  #binaries = '';
  /** The running child process. Undefined during `stop`, `kill` and `restart`, so that `died` does not report an intended exit. */
  #server: Child | undefined;

  constructor(folder: string, { durable, database = 'coinop', settings = {}, standbyOf }: PostgresOptions, user: Identity | undefined) {
    this.#folder = folder;
    this.#data = join(folder, 'data');
    this.#run = socketFolder(folder, user);
    this.#log = join(folder, 'log');
    this.#durable = durable;
    this.#settings = settings;
    this.#standbyOf = standbyOf;
    this.#database = database;
    this.#user = user;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.died = promise;
    this.#reportDeath = resolve;
  }

  get url(): string {
    return urlOf(this.#run, this.#database);
  }

  get serviceUrl(): string {
    return urlOf(this.#run, this.#database, SERVICE_ROLE);
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  get binaries(): string {
    return this.#binaries;
  }

  async start(): Promise<void> {
    await stopOrphanedPostgres(this.#folder);
    const binaries = postgresFor(this.#data);
    this.#binaries = binaries.directory;
    if (this.#standbyOf) copyData(binaries, this.#standbyOf.url, this.#data, this.#user);
    else await ensureCluster(binaries, this.#data, this.#durable, this.#user);
    const logFile = openSync(this.#log, 'w', 0o600);
    const server = new Child({
      command: join(binaries.directory, 'postgres'),
      args: ['-D', this.#data, '-k', this.#run, ...settingsArguments(this.#durable, this.#settings)],
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
      if (!isStandby(this.#data)) {
        // A server that restores a backup accepts only reads at first.
        while (this.#query('select pg_is_in_recovery()') === 't') await sleep(50);
        this.ensureDatabase(this.#database);
        this.#ensureServiceRole();
      }
    } catch (error) {
      await this.#end(STOP_STEPS);
      throw error;
    }
    server.unref();
    const report = (how: unknown) => {
      if (this.#server === server) this.#reportDeath(String(how));
    };
    end.then(report, report);
  }

  ensureDatabase(database: string): string {
    if (!/^[\w-]+$/.test(database)) throw new Error(`A database name must consist of letters, digits, _ and -, not ${JSON.stringify(database)}`);
    if (this.#query(`SELECT 1 FROM pg_database WHERE datname = '${database}'`) === '') this.#query(`CREATE DATABASE "${database}"`);
    return urlOf(this.#run, database);
  }

  #ensureServiceRole(): void {
    this.#query(`DO $$ BEGIN CREATE ROLE ${SERVICE_ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`);
  }

  /** Runs one SQL statement in the database `postgres` as the owner. @returns the output of psql: one line per row */
  #query(sql: string): string {
    const args = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', sql, urlOf(this.#run, 'postgres')];
    return output(join(this.#binaries, 'psql'), args, { cwd: this.#folder, env: postgresEnvironment() });
  }

  async stop(): Promise<void> {
    await this.#end(STOP_STEPS);
    removeSocketFolder(this.#folder);
    unlockFolder(this.#folder);
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

/** Stops the PostgreSQL in a folder if it still runs after its parent process was killed. */
export async function stopOrphanedPostgres(folder: string): Promise<void> {
  const data = join(folder, 'data');
  await stopOrphans({ folder: data, pidFile: join(data, 'postmaster.pid'), program: /^postgres/, commandLineParts: [data], stop: STOP_STEPS });
  // The server has ended, so its socket and the socket's lock file are deleted. Otherwise PostgreSQL could refuse to start if the process id in the
  // lock file belongs to an unrelated process.
  const socket = join(folder, 'run', `.s.PGSQL.${PORT}`);
  for (const file of [socket, `${socket}.lock`]) rmSync(file, { force: true });
}

/** Returns the URL of a database. The host in this URL is the escaped path of the socket folder, which libpq, node-postgres and MikroORM accept. */
function urlOf(run: string, database: string, role = ROLE): string {
  return `postgresql://${role}@${encodeURIComponent(run)}:${PORT}/${encodeURIComponent(database)}`;
}

/**
 * Waits until the server writes `ready` into postmaster.pid, as pg_ctl does.
 * @returns undefined when the server is ready, else the reason why it is not
 */
async function ready(server: Child, data: string): Promise<string | undefined> {
  const end = Date.now() + READY_WITHIN;
  while (Date.now() < end) {
    const lines = readLines(join(data, 'postmaster.pid'));
    if (Number(lines[0]) === server.pid && lines[7]?.trim() === 'ready') return undefined;
    await sleep(20);
    if (!server.isRunning) return new Promise(() => {});
  }
  return `accepted no connections for ${READY_WITHIN / 1000} seconds`;
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
