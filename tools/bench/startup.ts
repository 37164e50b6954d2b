import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { loggedPort } from '#dev/stack/api-process.ts';
import { withoutKeys } from '#dev/stack/localnet.ts';
import { startSystem } from '#dev/stack/system.ts';
import { secondsOf } from './support/cpu.ts';
import { percentiles } from './support/load.ts';
import { type Against, report, reportUnavailable } from './support/report.ts';

/**
 * This benchmark measures the time from the start of a process until the process is ready, and from SIGTERM until the process has exited. It starts
 * the API and the worker on a running database and Redis, and for comparison a bare Koa server and Node without any code. In each round, each process
 * is started twice: with a filled compile cache, as after a first start, and with an empty compile cache. The results are medians.
 */

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
/**
 * Limits, ms. `ready`: maximum time from the start until the process is ready. `exit`: maximum time from SIGTERM until the process has exited. Both
 * are shorter than the delay after which clients retry.
 */
const LIMIT = { ready: 2_000, exit: 1_000 };
const checkout = join(import.meta.dirname, '../..');
/** Returns the arguments of a process that runs code, prints its CPU time and exits. */
const printCpuOf = (work: string) => [
  ...['--input-type=module', '--eval'],
  `${work}; const { user, system } = process.cpuUsage(); console.log('cpu ms', (user + system) / 1_000); process.exit()`,
];
const modules = (path: string) => printCpuOf(`await import(${JSON.stringify(join(checkout, path))})`);

const system = await startSystem();
await Promise.all([...system.apis, ...system.workers].map((one) => one.stop()));
const env: NodeJS.ProcessEnv = { ...system.env, LOG_LEVEL: 'info', PORT: '0', METRICS_PORT: '0' };

/**
 * A process to start. It is ready when `path` returns 200 or when it prints `logLine`. A process without `path` and `logLine` is ready when it has
 * exited.
 */
interface Subject {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly path?: string;
  readonly logLine?: string;
}
const subjects: readonly Subject[] = [
  { name: 'node alone', args: printCpuOf('0'), env },
  { name: 'bare koa', args: [join(import.meta.dirname, 'support/bare-server.ts')], env, path: '/' },
  { name: 'api, imports only', args: modules('src/app.ts'), env },
  { name: 'api', args: [join(checkout, 'src/server.ts')], env: withoutKeys(env), path: '/readyz' },
  { name: 'worker, imports only', args: modules('workers/worker-pool.ts'), env },
  { name: 'worker', args: [join(checkout, 'workers/main.ts')], env, logLine: 'worker is ready' },
];

interface Started {
  readonly readyMs: number;
  /** CPU time until the process is ready, ms; NaN when the operating system does not report it. */
  readonly cpuMs: number;
  readonly exitMs: number;
}

const cold = mkdtempSync(join(tmpdir(), 'coinop-compiled-'));
try {
  const found = new Map<string, Started[]>();
  // Each round starts every process with both compile caches, so that other load on the machine affects all processes equally. The results of the
  // first round are dropped, because this round fills the caches.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const subject of subjects) {
      const warmly = await start(subject, subject.env.NODE_COMPILE_CACHE ?? '');
      const coldly = await start(subject, join(cold, `${round}-${subject.name}`));
      if (round === 0) continue;
      for (const [name, one] of [
        [subject.name, warmly],
        [`${subject.name}, empty compile cache`, coldly],
      ] as const)
        found.set(name, [...(found.get(name) ?? []), one]);
    }
  }
  const median = (name: string, of: keyof Started) => percentiles((found.get(name) ?? []).map((one) => one[of])).p50;
  for (const [name] of found) {
    const peer = name.endsWith('compile cache') ? 'bare koa, empty compile cache' : 'bare koa';
    const beside = (of: keyof Started): Against => (peer === name || name.startsWith('node') ? '' : { peer, value: median(peer, of) });
    report(`${name}: until ready`, median(name, 'readyMs'), 'ms', beside('readyMs'));
    const cpu = median(name, 'cpuMs');
    if (Number.isNaN(cpu)) reportUnavailable(`${name}: CPU until ready`, 'not reported by this operating system');
    else report(`${name}: CPU until ready`, cpu, 'ms', beside('cpuMs'));
  }
  for (const name of ['api', 'worker']) {
    report(`${name}: until ready, maximum`, Math.max(...(found.get(name) ?? []).map((one) => one.readyMs)), 'ms', { atMost: LIMIT.ready });
    report(`${name}: SIGTERM until exit`, median(name, 'exitMs'), 'ms', { atMost: LIMIT.exit });
  }
} finally {
  rmSync(cold, { recursive: true, force: true });
  await system.stop();
}

/**
 * Starts a process, waits until the process is ready, and stops it.
 * @param compiled the folder of the compile cache
 */
async function start({ args, env: given, path, logLine }: Subject, compiled: string): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: checkout,
    env: { ...given, NODE_COMPILE_CACHE: compiled },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  let port: number | undefined;
  const printed = new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      port ??= loggedPort(line);
      if (logLine !== undefined && line.includes(logLine)) resolve();
    });
  });
  const isService = path !== undefined || logLine !== undefined;
  if (path !== undefined) while (child.exitCode === null && !(await answers(port, path))) await sleep(5);
  else await Promise.race([once(child, 'close'), printed]);
  const readyMs = performance.now() - began;
  if (child.exitCode !== null && (isService || child.exitCode !== 0)) throw new Error(`node ${args.join(' ')} exited with ${child.exitCode}`);
  if (!isService) return { readyMs, cpuMs: Number(lines.at(-1)?.replace('cpu ms', '')), exitMs: 0 };
  const cpuMs = 1_000 * secondsOf(child.pid ?? 0) || Number.NaN;
  const signaled = performance.now();
  child.kill('SIGTERM');
  const [code] = await exited;
  if (code !== 0) throw new Error(`node ${args.join(' ')} exited with ${code}`);
  return { readyMs, cpuMs, exitMs: performance.now() - signaled };
}

/** Returns whether a process answers a request with 200. The port is undefined until the process has logged it. */
async function answers(port: number | undefined, path: string): Promise<boolean> {
  if (port === undefined) return false;
  return new Promise((resolve) => {
    const request = get({ port, host: '127.0.0.1', path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
  });
}
