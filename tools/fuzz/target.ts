import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { SCOPES, type Scope } from '#config';
import { startApiProcess } from '#dev/stack/api-process.ts';
import { type LocalnetProcess, withoutKeys } from '#dev/stack/localnet.ts';
import { ProcessOutput } from '#dev/stack/logs.ts';
import { type ServiceProcess, startProcess } from '#dev/stack/processes.ts';
import { compileCache, SYSTEM_ORIGIN } from '#dev/stack/system.ts';
import { createDatabase, testRedisUrl } from '#test/support/database.ts';
import { createSecret } from '#test/support/http/webhook.ts';

const checkout = join(import.meta.dirname, '../..');
/** Maximum time for a memory measurement, ms. */
const PROBE_TIMEOUT_MS = 60_000;

/** Credentials for all types of callers. No response may contain them. */
export interface Credentials {
  /** Admin token with all scopes. */
  readonly admin: string;
  /** One admin token per scope. */
  readonly scoped: Readonly<Record<Scope, string>>;
  readonly internal: string;
  readonly webhooks: Readonly<Record<'payment-status' | 'chat-bridge' | 'x', string>>;
}

/** A service to test. */
export interface Target {
  readonly url: string;
  /** Origin of the service's own web pages. The service must reject unsafe requests from pages of other origins. */
  readonly publicUrl: string;
  readonly credentials: Credentials;
  /** Secrets that no response and no log line may contain. */
  readonly secrets: readonly string[];
}

/** A private system: an API and a worker process with their own database and Redis prefix. */
export interface OwnTarget extends Target {
  readonly env: Readonly<Record<string, string>>;
  readonly api: ServiceProcess;
  readonly worker: ServiceProcess;
  /** Log lines of both processes so far. */
  readonly lines: readonly string[];
  /** Returns the resident memory of the API process, bytes. */
  memory(): number;
  /**
   * Returns the processor time of the main thread of the API process so far, ms. Unlike elapsed time, processor time does not depend on the load of
   * the machine.
   */
  cpuMs(): number;
  /** Returns the heap and buffers of a process after garbage collection, bytes. */
  heapBytes(process: ServiceProcess): Promise<number>;
  /** Returns the number of open files and connections of the API process. */
  openFiles(): number;
  close(): Promise<void>;
}

/** Records the output of processes instead of printing it. */
class Recorder extends ProcessOutput {
  readonly lines: string[] = [];
  /** Latest memory of each process, as measured by memory-probe.ts, bytes. */
  readonly inUse = new Map<string, number>();

  override follow(name: string, stream: Readable): Promise<void> {
    return new Promise((resolve) => {
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
        .on('line', (line) => {
          const bytes = /^\{"level":"info","inUse":(\d+)\}$/.exec(line)?.[1];
          if (bytes === undefined) this.lines.push(line);
          else this.inUse.set(name, Number(bytes));
        })
        .once('close', resolve);
    });
  }
}

/** Returns the text of a file below /proc; empty when the process has exited. */
function procfs(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}

const secret = (name: string) => `${name}-${randomBytes(18).toString('hex')}`;

function newCredentials(): Credentials {
  const scoped = Object.fromEntries(SCOPES.map((scope) => [scope, secret(`fuzz-${scope}`)])) as Record<Scope, string>;
  const webhooks = { 'payment-status': createSecret(), 'chat-bridge': createSecret(), x: secret('fuzz-x') };
  return { admin: secret('fuzz-admin'), scoped, internal: secret('fuzz-internal'), webhooks };
}

/**
 * Starts an API and a worker that use the servers in `TEST_DATABASE_URL` and `TEST_REDIS_URL`.
 * @param options.localnet the Solana cluster that the system uses
 */
export async function startTarget(options: { localnet?: LocalnetProcess; env?: Readonly<Record<string, string>> } = {}): Promise<OwnTarget> {
  const credentials = newCredentials();
  const { admin, scoped, internal, webhooks } = credentials;
  const sessionKey = secret('fuzz-session-key');
  const database = await createDatabase();
  const prefix = secret('fuzz').slice(0, 20);
  const folder = join(tmpdir(), `coinop-media-${prefix}`);
  const env: Record<string, string> = {
    ...Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'LANG'].map((name) => [name, process.env[name] ?? ''])),
    NODE_ENV: 'test',
    ...compileCache(),
    LOG_LEVEL: 'debug',
    // This limit is low, so that the requests of the run exceed it.
    CHAT_MESSAGES_PER_10_SEC: '2',
    DATABASE_URL: database.serviceUrl,
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: prefix,
    MEDIA_FOLDER: folder,
    PUBLIC_URL: SYSTEM_ORIGIN,
    ADMIN_TOKENS: [admin, ...SCOPES.map((scope) => `only-${scope}:${scope}:${scoped[scope]}`)].join(),
    INTERNAL_TOKENS: internal,
    WEBHOOK_SECRET_PAYMENT_STATUS: webhooks['payment-status'],
    WEBHOOK_SECRET_CHAT_BRIDGE: webhooks['chat-bridge'],
    WEBHOOK_SECRET_X: webhooks.x,
    SESSION_KEYS: sessionKey,
    RECEIPT_KEY: randomBytes(32).toString('base64'),
    ...options.localnet?.env,
    ...options.env,
  };
  const signingKeys = Object.entries(env).flatMap(([name, key]) => (name in withoutKeys(env) ? [] : [key]));
  const output = new Recorder(0);
  const script = (name: string, entry: string, given: NodeJS.ProcessEnv) => ({
    ...{ name, command: process.execPath, cwd: checkout, env: given, output },
    args: ['--expose-gc', '--import', join(import.meta.dirname, 'memory-probe.ts'), join(checkout, entry)],
  });
  const worker = startProcess(script('worker', 'workers/main.ts', env));
  let started: ServiceProcess | undefined;
  const close = async () => {
    await Promise.all([started?.stop(), worker.stop()]);
    const redis = new Redis(testRedisUrl());
    const keys = await redis.keys(`*${prefix}*`);
    if (keys.length > 0) await redis.unlink(...keys);
    redis.disconnect();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
  const onStart = (process: ServiceProcess) => {
    started = process;
  };
  const { process: api, port } = await startApiProcess(script('api', 'src/server.ts', withoutKeys(env)), { onStart }).catch(
    async (error: unknown) => {
      await close();
      throw error;
    },
  );
  return {
    url: `http://127.0.0.1:${port}`,
    publicUrl: SYSTEM_ORIGIN,
    credentials,
    secrets: [admin, ...Object.values(scoped), internal, ...Object.values(webhooks), sessionKey, env.RECEIPT_KEY ?? '', database.url, ...signingKeys],
    env,
    api,
    worker,
    lines: output.lines,
    memory: () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(procfs(`${api.pid}/status`))?.[1] ?? 0) * 1_024,
    cpuMs() {
      // The fields `utime` and `stime` are in hundredths of a second. The process name comes before them and may contain spaces and parentheses, so
      // the text up to the end of the process name is removed.
      const fields = procfs(`${api.pid}/task/${api.pid}/stat`)
        .replace(/^.*\) /s, '')
        .split(' ');
      return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
    },
    async heapBytes({ name, pid }) {
      output.inUse.delete(name);
      process.kill(pid, 'SIGUSR2');
      for (const until = Date.now() + PROBE_TIMEOUT_MS; Date.now() < until; await sleep(20)) {
        const bytes = output.inUse.get(name);
        if (bytes !== undefined) return bytes;
      }
      throw new Error(`the memory probe of the ${name} process did not respond in time`);
    },
    openFiles: () => (api.isRunning ? readdirSync(`/proc/${api.pid}/fd`).length : 0),
    close,
  };
}
