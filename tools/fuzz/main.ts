import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SCOPES, type Scope } from '#config';
import { startLocalnetProcess } from '#dev/stack/localnet.ts';
import { startPostgres } from '#dev/stack/postgres.ts';
import { startRedis } from '#dev/stack/redis.ts';
import { type Supervisor, supervise } from '#dev/stack/supervisor.ts';
import { openTemporaryFolder } from '#dev/stack/temporary.ts';
import { bombs, forms, hugeHeads, manyStreams, silentConnections, socketFloods } from './attacks.ts';
import { readDocument } from './document.ts';
import { fuzzOwnTarget } from './resource-growth.ts';
import { fuzz, type Report, reachedShare } from './run.ts';
import { longBodies, longQueries, slowPatterns } from './slow-inputs.ts';
import { type OwnTarget, startTarget, type Target } from './target.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

const USAGE = 'usage: bin/fuzz [requests] [--seed number] [--url http://…] [--connections number] [--attacks] [--verbose]';
const MB = 1024 * 1024;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    url: { type: 'string' },
    connections: { type: 'string' },
    attacks: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const requests = Number(positionals[0] ?? 100_000);
const seed = Number(options.seed ?? Date.now() % 1_000_000_000);
const connections = Number(options.connections ?? 24);
if (![requests, seed, connections].every(Number.isSafeInteger)) {
  printError(USAGE);
  process.exit(2);
}

async function run(target: Target, own: OwnTarget | null): Promise<readonly string[]> {
  print(`${requests} requests, seed ${seed}, ${connections} connections`);
  const began = performance.now();
  const given = { requests, seed, connections, onFault: (fault: string) => print(`\n${fault}`) };
  const { report, after } = own
    ? await fuzzOwnTarget(own, given, (completed, memory) => print(`${completed} requests: ${memory}`))
    : { report: await fuzz(target, given), after: [] };
  const seconds = (performance.now() - began) / 1_000;
  if (options.verbose) printTallies(report);
  const share = `${(100 * reachedShare(report)).toFixed(1)} % of the valid requests certainly reached a handler`;
  const slowest = `slowest response ${Math.round(report.slowestMs)} ms, maximum processor time between two responses ${report.stalledMs} ms`;
  print(`${requests} requests in ${seconds.toFixed(0)} s; ${share}; ${slowest}`);
  for (const fault of after) print(`\n${fault}`);
  return [...report.faults, ...after];
}

/** Prints, per operation, how often valid and mutated requests got each status. */
function printTallies({ tallies }: Report): void {
  const counts = (tally: ReadonlyMap<string, number>) =>
    [...tally]
      .sort()
      .map(([status, n]) => `${status} × ${n}`)
      .join(', ');
  for (const [name, { valid, mutated }] of tallies) print(`${name}\n    valid    ${counts(valid)}\n    mutated  ${counts(mutated)}`);
}

/** Runs all attacks with larger sizes than attacks.long.test.ts, and returns the faults. */
async function attack(target: OwnTarget): Promise<string[]> {
  const document = await readDocument(target.url);
  const attacks: Readonly<Record<string, () => Promise<string[]> | string[]>> = {
    '10,000 silent connections': () => silentConnections(target, 10_000),
    '5,000 streams': () => manyStreams(target, 5_000),
    'huge heads': () => hugeHeads(target),
    'gzip bombs of 4 GB': () => bombs(target, 4_096),
    'WebSocket floods': () => socketFloods(target, 50_000),
    forms: () => forms(target),
    'long queries': () => longQueries(document, target),
    'long bodies': () => longBodies(document, target),
    patterns: () => slowPatterns(document),
  };
  const faults: string[] = [];
  for (const [name, act] of Object.entries(attacks)) {
    const began = performance.now();
    const found = await act();
    print(
      `${name}: ${found.length === 0 ? 'passed' : found.join('; ')} (${((performance.now() - began) / 1_000).toFixed(1)} s, ${Math.round(target.memory() / MB)} MB)`,
    );
    faults.push(...found);
  }
  return faults;
}

/**
 * Returns the target for a service that is already running. Random values replace credentials that are not in the environment; the service rejects
 * them.
 */
function remoteTarget(url: string): Target {
  const given = (name: string) => process.env[name] ?? randomBytes(18).toString('hex');
  const scoped = Object.fromEntries(SCOPES.map((scope) => [scope, given(`ADMIN_TOKEN_${scope.toUpperCase()}`)])) as Record<Scope, string>;
  const webhook = (name: string) => process.env[`WEBHOOK_SECRET_${name}`] ?? `whsec_${randomBytes(32).toString('base64')}`;
  const webhooks = { 'payment-status': webhook('PAYMENT_STATUS'), 'chat-bridge': webhook('CHAT_BRIDGE'), x: webhook('X') };
  const credentials = { admin: given('ADMIN_TOKEN'), scoped, internal: given('INTERNAL_TOKEN'), webhooks };
  const secrets = [credentials.admin, ...Object.values(scoped), credentials.internal, ...Object.values(webhooks)];
  return { url: url.replace(/\/$/, ''), publicUrl: process.env.PUBLIC_URL ?? url, credentials, secrets };
}

async function runPrivateSystem(stack: Supervisor): Promise<number> {
  const folder = await openTemporaryFolder('coinop-fuzz-');
  stack.onStop(() => folder.remove());
  const [postgres, redis, localnet] = await Promise.all([
    stack.start(() => startPostgres({ folder: join(folder.path, 'postgres'), durable: false })),
    stack.start(() => startRedis({ folder: join(folder.path, 'redis'), durable: false })),
    stack.start(() => startLocalnetProcess({ folder: join(folder.path, 'localnet'), slotMs: 200, finalizedAfter: 4, beaconMs: 1_000 })),
  ]);
  Object.assign(process.env, { TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis.url });
  const target = await startTarget({ localnet, env: { DRAW_LEAD_SEC: '4' } });
  stack.onStop(() => target.close());
  const found = [...(await run(target, target)), ...(options.attacks ? await attack(target) : [])];
  return conclude(found);
}

function conclude(faults: readonly string[]): number {
  print(faults.length === 0 ? 'no faults found' : `${faults.length} faults; bin/fuzz ${requests} --seed ${seed} repeats the requests`);
  return faults.length === 0 ? 0 : 1;
}

if (options.url !== undefined) process.exit(conclude(await run(remoteTarget(options.url), null)));
process.exit(await supervise(runPrivateSystem, { print: printError, interruptedCode: (signal) => (signal === 'SIGINT' ? 130 : 143) }));
