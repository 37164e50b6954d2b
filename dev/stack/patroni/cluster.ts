import { randomBytes, randomInt } from 'node:crypto';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findPostgres } from '../binaries.ts';
import { Child, sendSignal } from '../child.ts';
import { findProgram, installPackages } from '../debian/packages.ts';
import { databaseUser, makeFolder } from '../folders.ts';
import { logTail } from '../logs.ts';
import type { Postgres } from '../postgres.ts';
import { ROLE, SERVICE_ROLE } from '../postgres-cluster.ts';
import { MEMBERS, PatroniMember } from './member.ts';

/** Maximum time until both servers run and replicate synchronously, ms. It includes the copy of the data for the standby. */
const READY_WITHIN = 300_000;
/** Maximum time of a switchover or failover, ms. */
const PROMOTED_WITHIN = 180_000;
const POLL_MS = 200;

/** Two PostgreSQL servers with synchronous replication under Patroni. */
export interface PatroniCluster extends Postgres {
  /** URLs of the owner, one per server. */
  readonly serverUrls: readonly string[];
  readonly standbyUrl: string;
  /** Makes the standby the primary, without a failure. Resolves when the new primary accepts writes and the old one replicates from it. */
  switchover(): Promise<void>;
  /** Kills a process of the primary, so that PostgreSQL ends all its processes and recovers. Resolves when both servers replicate again. */
  crash(): Promise<void>;
}

/**
 * Starts PostgreSQL twice under Patroni, with etcd. Installs the Debian packages if they are missing. The servers listen on addresses of the loopback
 * interface that are drawn at random, so that several clusters run on one machine with the usual ports.
 *
 * `kill` kills the primary with its Patroni; Patroni promotes the standby when the lease of the primary has ended. `restart` starts the killed server
 * again, as a standby.
 */
export async function startPatroni({ folder, database = 'coinop' }: { folder: string; database?: string }): Promise<PatroniCluster> {
  const [patroni, etcd] = installedPatroni();
  const binaries = findPostgres();
  if (!binaries) throw new Error('PostgreSQL (14 or newer) is not installed: run bin/setup');
  const user = databaseUser();
  makeFolder(folder, 0o711);
  const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const password = randomBytes(12).toString('hex');
  const store = startEtcd(etcd, join(folder, 'etcd'), `${network}.3`);
  const scope = { patroni, binaries, etcd: `${network}.3:2379`, password, user };
  const members = MEMBERS.map((name, n) => new PatroniMember(name, `${network}.${n + 1}`, join(folder, name), scope));
  const cluster = new Cluster(members, store, binaries.directory, database, password);
  try {
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    const logs = members.map(({ name }) => `${name}:\n${logTail(join(folder, name, 'log'))}`);
    throw new Error(`Patroni did not start: ${error}\n${logs.join('\n')}`, { cause: error });
  }
}

/**
 * Returns the paths of Patroni and etcd. Installs the Debian packages if a program is missing.
 * @throws if a program is missing and cannot be installed
 */
export function installedPatroni(): readonly [patroni: string, etcd: string] {
  const find = () => [findProgram('patroni'), findProgram('etcd')] as const;
  if (find().includes(undefined)) installPackages(['patroni', 'etcd-server'], ['patroni', 'etcd']);
  const [patroni, etcd] = find();
  if (!patroni || !etcd) throw new Error('apt-get installed patroni and etcd-server without an error, but one of the programs is missing');
  return [patroni, etcd];
}

function startEtcd(program: string, folder: string, host: string): Child {
  makeFolder(folder, 0o700);
  const log = openSync(join(folder, 'log'), 'a', 0o600);
  const client = `http://${host}:2379`;
  const peer = `http://${host}:2380`;
  const etcd = new Child({
    command: program,
    args: [
      ...['--data-dir', join(folder, 'data'), '--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`, '--unsafe-no-fsync'],
    ],
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', log, log],
    orphanSignal: 'SIGKILL',
    exitSignal: 'SIGKILL',
  });
  etcd.unref();
  return etcd;
}

class Cluster implements PatroniCluster {
  readonly name = 'patroni';
  readonly died = new Promise<string>(() => {});
  readonly binaries: string;
  readonly #members: readonly PatroniMember[];
  readonly #etcd: Child;
  readonly #database: string;
  readonly #password: string;
  #primary: PatroniMember;
  /** The member that `kill` has killed. */
  #killed: PatroniMember | undefined;

  constructor(members: readonly PatroniMember[], etcd: Child, binaries: string, database: string, password: string) {
    const [first] = members;
    if (!first) throw new Error('a cluster needs members');
    this.#members = members;
    this.#primary = first;
    this.#etcd = etcd;
    this.binaries = binaries;
    this.#database = database;
    this.#password = password;
  }

  get url(): string {
    return this.#urlOf(this.#members);
  }
  get serviceUrl(): string {
    return this.#urlOf(this.#members, this.#database, SERVICE_ROLE);
  }
  get serverUrls(): readonly string[] {
    return this.#members.map((member) => this.#urlOf([member]));
  }
  get standbyUrl(): string {
    return this.#urlOf(this.#members.filter((member) => member !== this.#primary));
  }
  get pid(): number {
    return this.#primary.postmaster() ?? 0;
  }

  #urlOf(members: readonly PatroniMember[], database = this.#database, role = ROLE): string {
    return `postgresql://${role}:${this.#password}@${members.map(({ server }) => server).join(',')}/${encodeURIComponent(database)}`;
  }

  async start(): Promise<void> {
    for (const member of this.#members) member.start();
    await this.#untilReplicated();
    this.#primary = (await this.#leader()) ?? this.#primary;
    await this.#query(`create role ${SERVICE_ROLE} login password '${this.#password}'`);
    await this.#query(`create database "${this.#database}"`);
  }

  /** Waits until one member is the primary and every other one replicates from it synchronously. */
  async #untilReplicated(): Promise<void> {
    await until('the standby does not replicate synchronously', READY_WITHIN, async () => {
      const found = await Promise.all(this.#members.map((member) => member.status()));
      const isRunning = found.every((status) => status?.state === 'running');
      return isRunning && found.filter((status) => status?.sync_standby === true).length === this.#members.length - 1;
    });
  }

  async #leader(): Promise<PatroniMember | undefined> {
    const found = await Promise.all(this.#members.map(async (member) => ({ member, status: await member.status() })));
    return found.find(({ status }) => status?.state === 'running' && (status.role === 'master' || status.role === 'primary'))?.member;
  }

  async #query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.#urlOf([this.#primary], 'postgres') });
    try {
      await client.connect();
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  ensureDatabase(): string {
    throw new Error('a cluster has only the database with which it was started');
  }

  /** Precondition of a fault: a primary without a synchronous standby has the only copy of the data. */
  async #wholePrimary(): Promise<PatroniMember> {
    await this.#untilReplicated();
    const primary = await until('no server is the primary', PROMOTED_WITHIN, () => this.#leader());
    this.#primary = primary;
    return primary;
  }

  async kill(): Promise<void> {
    this.#killed = await this.#wholePrimary();
    await this.#killed.kill();
  }

  async crash(): Promise<void> {
    await this.#wholePrimary();
    const [walWriter] = await this.#query<{ pid: number }>(`select pid from pg_stat_activity where backend_type = 'walwriter'`);
    if (!walWriter) throw new Error('the primary has no WAL writer');
    sendSignal(walWriter.pid, 'SIGKILL');
    await until('PostgreSQL did not recover', PROMOTED_WITHIN, async () => {
      this.#primary = (await this.#leader()) ?? this.#primary;
      const [row] = await this.#query<{ pid: number }>(`select pid from pg_stat_activity where backend_type = 'walwriter'`).catch(() => []);
      return row !== undefined && row.pid !== walWriter.pid;
    });
    await this.#wholePrimary();
  }

  /** Waits until the standby is the primary, then starts the killed server again. */
  async restart(): Promise<void> {
    const killed = this.#killed;
    this.#killed = undefined;
    if (!killed) return;
    await until('the standby was not promoted', PROMOTED_WITHIN, async () => {
      const leader = await this.#leader();
      if (leader && leader !== killed) this.#primary = leader;
      return this.#primary !== killed;
    });
    killed.start();
    await this.#wholePrimary();
  }

  async switchover(): Promise<void> {
    const before = await this.#wholePrimary();
    const next = this.#members.find((member) => member !== before);
    if (!next) throw new Error('there is no standby');
    let refusal: unknown = null;
    await until(
      () => `the standby did not become the primary (${refusal})`,
      PROMOTED_WITHIN,
      async () => {
        // Patroni refuses while the standby is behind, and asks for a repetition.
        await before.switchover(next.name).catch((error: unknown) => (refusal = error));
        return (await this.#leader()) === next;
      },
    );
    await this.#wholePrimary();
  }

  async stop(): Promise<void> {
    // The standbys stop first, because a primary that stops waits until they have received its last changes.
    for (const member of [...this.#members].sort((a, b) => Number(a === this.#primary) - Number(b === this.#primary))) await member.stop();
    await this.#etcd.stop([['SIGTERM', 5_000]]);
  }
}

/** Waits until `find` returns a value other than false and undefined. @returns the value */
async function until<T>(problem: string | (() => string), withinMs: number, find: () => Promise<T | false | undefined>): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`${typeof problem === 'string' ? problem : problem()} within ${withinMs / 1_000} seconds`);
    await sleep(POLL_MS);
  }
}
