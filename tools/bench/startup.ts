import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutKeys } from '#dev/stack/localnet.ts';
import { anyPorts } from '#dev/stack/ports.ts';
import { startSystem } from '#dev/stack/system.ts';
import { secondsOf } from './support/cpu.ts';
import { percentiles } from './support/load.ts';
import { type Against, cannot, report } from './support/report.ts';

/**
 * How soon a process serves after it was started, and how soon it is gone after SIGTERM: API and worker on a database and a Redis that
 * are there, beside a bare Koa and nothing but Node. With the compile cache warm, as on every start but the first; and empty. Medians.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
/** A process that is replaced should be missed for no longer than a client waits before it tries again. Ms. */
const LIMIT = { ready: 2_000, gone: 1_000 };
const checkout = join(import.meta.dirname, '../..');
/** Runs something and ends, having said what CPU time it took. */
const ending = (work: string) => [
  ...['--input-type=module', '--eval'],
  `${work}; const { user, system } = process.cpuUsage(); console.log('cpu ms', (user + system) / 1_000); process.exit()`,
];
const modules = (path: string) => ending(`await import(${JSON.stringify(join(checkout, path))})`);

const system = await startSystem();
const [port = 0] = await anyPorts(1);
await Promise.all([...system.apis, ...system.workers].map((one) => one.stop()));
const env: NodeJS.ProcessEnv = { ...system.env, LOG_LEVEL: 'info', PORT: String(port), METRICS_PORT: '0' };

/** What is started; it is ready when it answers at `path`, says `says`, or, with neither, has ended. */
interface Subject {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly path?: string;
  readonly says?: string;
}
const subjects: readonly Subject[] = [
  { name: 'node alone', args: ending('0'), env },
  { name: 'bare koa', args: [join(import.meta.dirname, 'support/bare-server.ts')], env, path: '/' },
  { name: 'api, its modules alone', args: modules('src/app.ts'), env },
  { name: 'api', args: [join(checkout, 'src/server.ts')], env: withoutKeys(env), path: '/readyz' },
  { name: 'worker, its modules alone', args: modules('workers/worker-pool.ts'), env },
  { name: 'worker', args: [join(checkout, 'workers/main.ts')], env, says: 'worker is ready' },
];

interface Started {
  readonly readyMs: number;
  /** CPU time until then; NaN where the system does not tell. */
  readonly cpuMs: number;
  readonly goneMs: number;
}

const cold = mkdtempSync(join(tmpdir(), 'coinop-compiled-'));
try {
  const found = new Map<string, Started[]>();
  // All of them in each round, so that what else goes on meets all alike. The first round only fills the caches.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const subject of subjects) {
      const warmly = await start(subject, subject.env.NODE_COMPILE_CACHE ?? '');
      const coldly = await start(subject, join(cold, `${round}-${subject.name}`));
      if (round === 0) continue;
      for (const [name, one] of [
        [subject.name, warmly],
        [`${subject.name}, nothing compiled`, coldly],
      ] as const)
        found.set(name, [...(found.get(name) ?? []), one]);
    }
  }
  const median = (name: string, of: keyof Started) => percentiles((found.get(name) ?? []).map((one) => one[of])).p50;
  for (const [name] of found) {
    const peer = name.endsWith('compiled') ? 'bare koa, nothing compiled' : 'bare koa';
    const beside = (of: keyof Started): Against => (peer === name || name.startsWith('node') ? '' : { peer, value: median(peer, of) });
    report(`${name}: until ready`, median(name, 'readyMs'), 'ms', beside('readyMs'));
    const cpu = median(name, 'cpuMs');
    if (Number.isNaN(cpu)) cannot(`${name}: CPU until ready`, 'this system does not tell');
    else report(`${name}: CPU until ready`, cpu, 'ms', beside('cpuMs'));
  }
  for (const name of ['api', 'worker']) {
    report(`${name}: until ready, at most`, Math.max(...(found.get(name) ?? []).map((one) => one.readyMs)), 'ms', { atMost: LIMIT.ready });
    report(`${name}: SIGTERM until gone`, median(name, 'goneMs'), 'ms', { atMost: LIMIT.gone });
  }
} finally {
  rmSync(cold, { recursive: true, force: true });
  await system.stop();
}

/** Starts a process, waits until it is ready, and stops it. */
async function start({ args, env: given, path, says }: Subject, compiled: string): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: checkout,
    env: { ...given, NODE_COMPILE_CACHE: compiled },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  const said = new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      if (says !== undefined && line.includes(says)) resolve();
    });
  });
  const isService = path !== undefined || says !== undefined;
  if (path !== undefined) while (child.exitCode === null && !(await answers(path))) await sleep(5);
  else await Promise.race([once(child, 'close'), said]);
  const readyMs = performance.now() - began;
  if (child.exitCode !== null && (isService || child.exitCode !== 0)) throw new Error(`node ${args.join(' ')} ended with ${child.exitCode}`);
  if (!isService) return { readyMs, cpuMs: Number(lines.at(-1)?.replace('cpu ms', '')), goneMs: 0 };
  const cpuMs = 1_000 * secondsOf(child.pid ?? 0) || Number.NaN;
  const asked = performance.now();
  child.kill('SIGTERM');
  const [code] = await exited;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`);
  return { readyMs, cpuMs, goneMs: performance.now() - asked };
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get({ port, host: '127.0.0.1', path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('error', () => resolve(false));
  });
}
