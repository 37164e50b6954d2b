import { randomBytes, randomInt } from 'node:crypto';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findPostgres } from '../binaries.ts';
import { Child } from '../child.ts';
import { findProgram, installPackages } from '../debian/packages.ts';
import { databaseUser, makeFolder } from '../folders.ts';
import { logTail } from '../logs.ts';
import type { Postgres } from '../postgres.ts';
import { ROLE, SERVICE_ROLE } from '../postgres-cluster.ts';
import { MEMBERS, PatroniMember } from './member.ts';

/** Maximum time until both servers run and replicate synchronously, ms. It includes the copy of the data for the standby. */
const READY_WITHIN = 120_000;
/** Maximum time of a switchover or failover, ms. */
const PROMOTED_WITHIN = 60_000;
const POLL_MS = 200;

/** Two PostgreSQL servers with synchronous replication under Patroni. */
export interface PatroniCluster extends Postgres {
  /** URLs of the owner, one per server. */
  readonly serverUrls: readonly string[];
  readonly standbyUrl: string;
  /** Makes the standby the primary, without a failure. Resolves when the new primary accepts writes and the old one replicates from it. */
  switchover(): Promise<void>;
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

  async #query(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#urlOf([this.#primary], 'postgres') });
    try {
      await client.connect();
      await client.query(sql);
    } finally {
      await client.end();
    }
  }

  ensureDatabase(): string {
    throw new Error('a cluster has only the database with which it was started');
  }

  async kill(): Promise<void> {
    this.#killed = this.#primary;
    await this.#killed.kill();
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
    await this.#untilReplicated();
  }

  async switchover(): Promise<void> {
    const before = this.#primary;
    const next = this.#members.find((member) => member !== before);
    if (!next) throw new Error('there is no standby');
    await before.switchover(next.name);
    this.#primary = next;
    await this.#untilReplicated();
  }

  async stop(): Promise<void> {
    // The standbys stop first, because a primary that stops waits until they have received its last changes.
    for (const member of [...this.#members].sort((a, b) => Number(a === this.#primary) - Number(b === this.#primary))) await member.stop();
    await this.#etcd.stop([['SIGTERM', 5_000]]);
  }
}

async function until(problem: string, withinMs: number, isDone: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await isDone())) {
    if (Date.now() > end) throw new Error(`${problem} within ${withinMs / 1_000} seconds`);
    await sleep(POLL_MS);
  }
}
