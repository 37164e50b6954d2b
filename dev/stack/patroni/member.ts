import { chownSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresBinaries } from '../binaries.ts';
import { Child, type Identity, isAlive, type StopSteps, sendSignal } from '../child.ts';
import { makeFolder, socketFolder } from '../folders.ts';
import { postgresEnvironment, REPLICATED_SETTINGS, ROLE } from '../postgres-cluster.ts';

/** The names of the members. PostgreSQL does not accept `first` and `any` as names of standbys, because they are keywords there. */
export const MEMBERS = ['node-1', 'node-2'] as const;

const POSTGRES_PORT = 5432;
const API_PORT = 8008;

/** Patroni stops its PostgreSQL when it gets SIGTERM. */
const STOP_STEPS: StopSteps = [['SIGTERM', 30_000]];

/** What the members of a cluster share. */
export interface PatroniScope {
  readonly patroni: string;
  readonly binaries: PostgresBinaries;
  /** Address of etcd, `host:port`. */
  readonly etcd: string;
  readonly password: string;
  readonly user: Identity | undefined;
}

/** One PostgreSQL server with its Patroni. It listens on an address of the loopback interface that only this member uses. */
export class PatroniMember {
  readonly name: string;
  readonly host: string;
  readonly #folder: string;
  readonly #scope: PatroniScope;
  #patroni: Child | undefined;

  constructor(name: string, host: string, folder: string, scope: PatroniScope) {
    this.name = name;
    this.host = host;
    this.#folder = folder;
    this.#scope = scope;
  }

  get server(): string {
    return `${this.host}:${POSTGRES_PORT}`;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  start(): void {
    const { patroni, user } = this.#scope;
    makeFolder(this.#folder, 0o700, user);
    const file = join(this.#folder, 'patroni.json');
    // JSON is valid YAML, which Patroni reads.
    writeFileSync(file, JSON.stringify(this.#configuration(), null, 2), { mode: 0o600 });
    if (user) chownSync(file, user.uid, user.gid);
    const logFile = openSync(join(this.#folder, 'log'), 'a', 0o600);
    this.#patroni = new Child({
      command: patroni,
      args: [file],
      cwd: this.#folder,
      env: postgresEnvironment(),
      stdio: ['ignore', logFile, logFile],
      user,
      orphanSignal: 'SIGTERM',
      exitSignal: 'SIGTERM',
    });
    this.#patroni.unref();
    closeSync(logFile);
  }

  async stop(): Promise<void> {
    await this.#patroni?.stop(STOP_STEPS);
    await this.#killPostgres();
  }

  /** Kills Patroni and PostgreSQL without any shutdown, as the loss of the machine does. */
  async kill(): Promise<void> {
    this.#patroni?.kill('SIGKILL');
    await this.#killPostgres();
    await this.#patroni?.exited;
  }

  async #killPostgres(): Promise<void> {
    const pid = this.postmaster();
    if (pid === undefined || !isAlive(pid)) return;
    sendSignal(pid, 'SIGKILL');
    // The other processes of PostgreSQL end when they notice the end of the first one.
    while (isAlive(pid)) await sleep(10);
  }

  /** Returns the id of the first process of PostgreSQL; undefined when PostgreSQL does not run. */
  postmaster(): number | undefined {
    try {
      return Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0]) || undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns what Patroni says about the member: for example role `replica` and state `running`. Null when Patroni does not answer. */
  async status(): Promise<{ role: string; state: string; sync_standby?: boolean } | null> {
    return await this.#request('/patroni').then(
      (response) => response.json() as Promise<{ role: string; state: string; sync_standby?: boolean }>,
      () => null,
    );
  }

  /** Asks the Patroni of the primary to make another member the primary. @throws when Patroni refuses */
  async switchover(candidate: string): Promise<void> {
    const response = await this.#request('/switchover', { leader: this.name, candidate });
    if (!response.ok) throw new Error(`Patroni refused the switchover: ${await response.text()}`);
  }

  #request(path: string, body?: object): Promise<Response> {
    const url = `http://${this.host}:${API_PORT}${path}`;
    return fetch(url, { signal: AbortSignal.timeout(30_000), ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  }

  #configuration(): object {
    const { binaries, etcd, password, user } = this.#scope;
    return {
      scope: 'coinop',
      name: this.name,
      restapi: { listen: `${this.host}:${API_PORT}`, connect_address: `${this.host}:${API_PORT}` },
      etcd3: { host: etcd },
      bootstrap: {
        dcs: {
          // As in ops/postgres/patroni.yml.
          ...{ ttl: 15, loop_wait: 2, retry_timeout: 5, synchronous_mode: true, primary_start_timeout: 0 },
          postgresql: { use_pg_rewind: true, use_slots: true, parameters: REPLICATED_SETTINGS },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
      },
      postgresql: {
        listen: this.server,
        connect_address: this.server,
        data_dir: this.#data,
        bin_dir: binaries.directory,
        // Without it, a connection that is lost during pg_rewind would leave a standby that can never replicate again.
        remove_data_directory_on_rewind_failure: true,
        pgpass: join(this.#folder, 'pgpass'),
        authentication: { superuser: { username: ROLE, password }, replication: { username: 'replicator', password } },
        parameters: { unix_socket_directories: socketFolder(this.#folder, user) },
        pg_hba: ['local all all trust', 'host all all 127.0.0.0/8 scram-sha-256', 'host replication replicator 127.0.0.0/8 scram-sha-256'],
      },
    };
  }
}
