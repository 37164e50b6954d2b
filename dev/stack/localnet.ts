import { closeSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, describeExit, type StopSteps } from './child.ts';
import { makeFolder } from './folders.ts';
import { logTail } from './logs.ts';
import type { StackPart } from './supervisor.ts';

/** Returns a copy of the environment without the variables that contain signing keys. Only workers sign transactions, so the API gets no key. */
export const withoutKeys = <Env extends NodeJS.ProcessEnv>(env: Env): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^(?:FEE_PAYER|EPOCH_AUTHORITY|TREASURY|COMMITTER)_KEY$/.test(name)));

const READY_WITHIN = 60_000;
const STOP_STEPS: StopSteps = [['SIGTERM', 10_000]];
const MAX_STARTS = 20;
const PAUSE_MS = 250;
const PROGRAM = join(import.meta.dirname, '../localnet/main.ts');

export interface LocalnetProcessOptions {
  /** Data folder, used by this localnet only; created if missing. */
  readonly folder: string;
  /** Port; 0 (default): any free port. A restart uses the same port again. */
  readonly port?: number;
  /** Whether to use any free port if `port` is in use at the first start. */
  readonly mayMove?: boolean;
  readonly host?: string;
  readonly slotMs?: number;
  /** Time between two rounds of the beacon, ms. */
  readonly beaconMs?: number;
  /** A block is confirmed when `confirmedAfter` later blocks exist, and finalized when `finalizedAfter` later blocks exist. */
  readonly confirmedAfter?: number;
  readonly finalizedAfter?: number;
  /** Credits per second that each RPC node grants; undefined: no limit. */
  readonly creditsPerSecond?: number;
}

/** A localnet that runs as a child process. */
export interface LocalnetProcess extends StackPart {
  /** URL of the first RPC node. `env` has the URL of the second RPC node; the control endpoint is `<url>/control/…`. */
  readonly url: string;
  readonly pid: number;
  /** Environment variables with which Coinop uses this localnet: RPC and beacon URLs, program id, mint addresses, and signing keys. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends the process by SIGKILL, as in a crash. */
  kill(): Promise<void>;
  /** Stops the process if it runs, then starts it. */
  restart(): Promise<void>;
}

/** Starts a localnet. @throws when another localnet uses the folder */
export async function startLocalnetProcess(options: LocalnetProcessOptions): Promise<LocalnetProcess> {
  makeFolder(options.folder, 0o700);
  const server = new LocalnetServer({ ...options, folder: realpathSync(options.folder) });
  await server.start();
  return server;
}

class LocalnetServer implements LocalnetProcess {
  readonly name = 'localnet';
  readonly died: Promise<string>;
  url = '';
  env: Readonly<Record<string, string>> = {};
  readonly #options: LocalnetProcessOptions;
  readonly #log: string;
  readonly #reportDeath: (how: string) => void;
  /** The running child process. Undefined during `stop`, `kill` and `restart`, so that `died` does not report an intended exit. */
  #server: Child | undefined;

  constructor(options: LocalnetProcessOptions) {
    this.#options = options;
    this.#log = join(options.folder, 'log');
    const { promise, resolve } = Promise.withResolvers<string>();
    this.died = promise;
    this.#reportDeath = resolve;
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  /** Starts the process. If another process uses the port, tries again for about five seconds, or, with `mayMove`, uses any free port. */
  async start(): Promise<void> {
    const { mayMove = false } = this.#options;
    for (let starts = 1; ; starts++) {
      const isMoving = mayMove && this.url === '' && starts > 1;
      const failure = await this.#tryToStart(isMoving ? 0 : this.#port);
      if (failure === undefined) return;
      if (!failure.includes('EADDRINUSE') || starts === MAX_STARTS) throw new Error(`localnet ${failure}`);
      if (!mayMove) await sleep(PAUSE_MS);
    }
  }

  /** The port of the process that was started before, or else the chosen port. */
  get #port(): number | undefined {
    return this.url === '' ? this.#options.port : Number(new URL(this.url).port);
  }

  /** The port of the second RPC node of the process that was started before. */
  get #secondPort(): number | undefined {
    const url = this.env.SOLANA_RPC_SECOND_URL;
    return url === undefined ? undefined : Number(new URL(url).port);
  }

  /** Starts the process once. @returns the failure; undefined if the process is ready */
  async #tryToStart(port: number | undefined): Promise<string | undefined> {
    const logFile = openSync(this.#log, 'w', 0o600);
    const server = new Child({
      command: process.execPath,
      args: [PROGRAM],
      cwd: this.#options.folder,
      env: this.#environment(port),
      stdio: ['ignore', logFile, logFile],
      orphanSignal: 'SIGTERM',
      exitSignal: 'SIGTERM',
    });
    closeSync(logFile);
    this.#server = server;
    const end = server.exited.then((exit) => `${describeExit(exit)}; the end of ${this.#log}:\n${logTail(this.#log)}`);
    const ready = await Promise.race([end.then((how) => ({ failure: how })), this.#ready(server)]);
    if ('failure' in ready) {
      await this.#end(STOP_STEPS);
      return ready.failure;
    }
    this.url = ready.url;
    this.env = JSON.parse(readFileSync(join(this.#options.folder, 'env.json'), 'utf8'));
    server.unref();
    const report = (how: unknown) => {
      if (this.#server === server) this.#reportDeath(String(how));
    };
    end.then(report, report);
    return undefined;
  }

  async stop(): Promise<void> {
    await this.#end(STOP_STEPS);
  }

  async kill(): Promise<void> {
    await this.#end([]);
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

  /**
   * Waits for the line that the process prints when it is ready.
   * @returns the URL from that line, or the reason why the process is not ready
   */
  async #ready(server: Child): Promise<{ url: string } | { failure: string }> {
    const end = Date.now() + READY_WITHIN;
    while (Date.now() < end) {
      const url = /^\{"ready":true,"url":"([^"]+)"\}$/m.exec(readFileSync(this.#log, 'utf8'))?.[1];
      if (url !== undefined) return { url };
      await sleep(20);
      if (!server.isRunning) return new Promise(() => {});
    }
    return { failure: `was not ready within ${READY_WITHIN / 1000} seconds` };
  }

  #environment(port: number | undefined): NodeJS.ProcessEnv {
    const { folder, host, slotMs, beaconMs, confirmedAfter, finalizedAfter, creditsPerSecond } = this.#options;
    const settings = {
      LOCALNET_FOLDER: folder,
      LOCALNET_HOST: host,
      LOCALNET_PORT: port,
      LOCALNET_SECOND_PORT: this.#secondPort,
      LOCALNET_CREDITS_PER_SECOND: creditsPerSecond,
      LOCALNET_SLOT_MS: slotMs,
      LOCALNET_BEACON_MS: beaconMs,
      LOCALNET_CONFIRMED_AFTER: confirmedAfter,
      LOCALNET_FINALIZED_AFTER: finalizedAfter,
    };
    const defined = Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]));
    return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...Object.fromEntries(defined) };
  }
}
