import { setTimeout as sleep } from 'node:timers/promises';
import { type System, startSystem } from '#dev/stack/system.ts';
import { createSecret } from '#test/support/http/webhook.ts';
import { contradictions } from '#test/support/invariants.ts';
import { addressOfKey } from '#test/support/solana/chain.ts';
import { audit } from './audit.ts';
import { balanceFailures } from './balances.ts';
import { FailureCauses } from './causes.ts';
import { Client, newKey } from './client.ts';
import { confirmationFailures, duplicateRows, responseFailures, scoreFailures } from './confirmation-checks.ts';
import { newRunRecord, summary } from './confirmed.ts';
import { Database, OutboxReader } from './database.ts';
import { FaultInjector } from './fault-injector.ts';
import { type FaultPlan, failoversOf, faultsOf, PLANNED_FAILOVERS, REPLICATED_DECK } from './faults.ts';
import { Listener } from './listener.ts';
import { Neighbours } from './neighbours.ts';
import { adminRequest, createContent, runChatRounds, runEpochs, runTicketRounds } from './operators.ts';
import { Outages } from './outages.ts';
import { ignoreAbandoned, type LoadContext, playUntilOver, runBattles } from './players.ts';
import { prepareCommits } from './postgres-faults.ts';
import { randomOf } from './random.ts';
import { roundFailures } from './rounds.ts';
import { settle } from './settle.ts';
import { streamFailures } from './streams.ts';
import { WalletChain } from './wallet-chain.ts';

const APIS = 2;
const WORKERS = 2;
const LEAD_SEC = 4;
const FUNDED_USDC = 100;
/** Maximum time after a failover of PostgreSQL until an API process is ready again, ms. */
const MAX_OUTAGE_MS = 30_000;

/** The parameters of a run. */
export interface RunOptions {
  readonly seed: number;
  /** Duration of the faults, ms. */
  readonly forMs: number;
  readonly players: number;
  /** Maximum pause between two faults, ms. */
  readonly quietMs: number;
  /** Maximum downtime of a process or server, ms. */
  readonly downMs: number;
  /** Maximum time after the faults until no work is pending, ms. */
  readonly settleMs: number;
  /** Number of rounds per kind to verify with bin/verify-round. The audit recomputes all rounds. */
  readonly verified: number;
  /**
   * `postgres`: runs PostgreSQL with a standby under Patroni, and fails it over in place of random faults. `all`: also runs Redis with Sentinels, and
   * fails both over beside random faults, while a hostile caller floods the service from time to time. By default there is one server of each.
   */
  readonly failovers?: 'postgres' | 'all';
  /** Prints each fault and the results. */
  readonly print: (line: string) => void;
}

/** The result of a run. */
export interface ChaosResult {
  /** One sentence per violated guarantee; empty if the run passed. */
  readonly failures: readonly string[];
  /** Every fault with its time. */
  readonly log: readonly string[];
}

/**
 * Runs a complete system of real processes under a mixed load and injects faults. Then the faults stop, and every response, event and
 * payment is compared with the database and the chain. The seed determines the faults and the actions of the players, but not their
 * exact timing.
 */
export async function runChaos(options: RunOptions): Promise<ChaosResult> {
  const bridgeSecret = createSecret();
  const causes = new FailureCauses();
  const system = await startSystem({
    onLine: (name, line) => causes.read(name, line),
    apis: APIS,
    workers: WORKERS,
    // A confirmed write must survive a crash of PostgreSQL.
    durable: true,
    patroni: options.failovers !== undefined,
    sentinels: options.failovers === 'all',
    durableRedis: true,
    localnet: { slotMs: 20, finalizedAfter: 8, beaconMs: 1_000 },
    env: {
      ...{ LANDING_POLL_MS: '50', LANDING_RECHECK_MS: '200', LANDING_DEPTH_BLOCKS: '4', LANDING_GIVE_UP_MS: '3000' },
      ...{ DRAW_LEAD_SEC: String(LEAD_SEC), LEGACY_ROUNDS_UNFINISHED: '1000', LEGACY_ROUNDS_PER_WALLET: '10000', LEGACY_ROUNDS_PER_DAY: '10000' },
      ...{
        CHAT_MESSAGES_PER_10_SEC: '1000',
        UNVERIFIED_SCORES_PER_MINUTE: '600',
        WEBHOOK_SECRET_CHAT_BRIDGE: bridgeSecret,
        LOG_LEVEL: process.env.CHAOS_LOG ?? 'silent',
      },
    },
  });
  try {
    const { failures, log } = await runOn(system, bridgeSecret, options);
    return { failures: failures.map((failure) => causes.explain(failure)), log };
  } finally {
    await system.stop();
  }
}

async function runOn(
  system: System,
  bridgeSecret: string,
  { seed, forMs, players, quietMs, downMs, settleMs, verified, failovers, print }: RunOptions,
): Promise<ChaosResult> {
  const random = randomOf(seed);
  const ledger = newRunRecord();
  const { confirmed, violations } = ledger;
  const { urls, localnet, env } = system;
  if (!localnet) throw new Error('the system has no localnet');
  const treasury = addressOfKey(env.TREASURY_KEY);
  const chain = new WalletChain(localnet.url, env.USDC_MINT ?? '', treasury);
  const clientOf = (cookie: string) => Object.assign(new Client(urls, ledger), { cookie });
  const operator = new Client(urls, ledger);
  const clients = Array.from({ length: players }, () => new Client(urls, ledger));
  const rivals = [new Client(urls, ledger), new Client(urls, ledger)] as const;
  const hostile = new Client(urls, ledger);
  await createContent(operator);
  await prepareCommits(system.postgres.url);
  await Promise.all([operator, hostile, ...clients, ...rivals].map((client) => client.signIn()));
  for (const { wallet } of clients) {
    await chain.fund(wallet, FUNDED_USDC);
    confirmed.funded.set(wallet, BigInt(FUNDED_USDC) * 1_000_000n);
  }

  const database = new Database(system.postgres.url);
  const outbox = new OutboxReader(database);
  const load: LoadContext = { ledger, chain, bridgeSecret, claimable: new Set(), legacyRound: null, over: false };
  const listeners = [...clients, operator].map((client) => new Listener(client, random.fork(`listener ${client === operator}`), client !== operator));
  let late: Listener[] = [];
  const injector = new FaultInjector(system, print);
  const neighbours = new Neighbours(hostile, random.fork('neighbours'), (line) => injector.note(line));
  const outages = new Outages(urls, (line) => injector.note(line));
  const all = [operator, ...clients, ...rivals];
  for (const [i, client] of all.entries()) client.unstable = random.fork(`trouble ${i}`);
  const actors = [
    ...clients.map((client, i) => playUntilOver(client, load, random.fork(`player ${i}`))),
    runBattles(rivals, load, random.fork('battles')),
    runChatRounds(operator, load, random.fork('rounds')),
    runTicketRounds(operator, load, random.fork('tickets')),
    runEpochs(
      operator,
      clients.map(({ wallet }) => wallet),
      load,
      random.fork('rewards'),
    ),
    ...(failovers === 'all' ? [neighbours.run(() => load.over), reconcileUntilOver(operator, load)] : []),
  ];
  try {
    const end = performance.now() + forMs;
    const working = Promise.all(actors);
    // The first actor that throws ends the run, without waiting for the other actors.
    let broken = false;
    working.catch(() => (broken = true));
    const plan: FaultPlan = { apis: APIS, workers: WORKERS, quietMs, downMs };
    const isOver = () => broken || performance.now() > end;
    if (failovers === 'postgres') await injector.inject(PLANNED_FAILOVERS, () => broken);
    else if (failovers === undefined) await injector.inject(faultsOf(random.fork('faults'), plan), isOver);
    else {
      const others = injector.inject(faultsOf(random.fork('faults'), plan, REPLICATED_DECK), isOver);
      await injector.inject(failoversOf(random.fork('failovers'), plan), isOver, { oneByOne: true });
      await others;
    }
    load.over = true;
    for (const client of all) client.unstable = null;
    await injector.clearFaults();
    await working;
    print(summary(ledger));

    const failures = [...(await settle(system, database, settleMs, failovers && (() => reconcile(operator))))];
    print(`an API process was not ready for ${Math.round(outages.longest)} ms at most`);
    print(`no work pending after ${((performance.now() - end) / 1_000).toFixed(1)} s`);
    late = listeners.flatMap((listener) => listener.resumed());
    failures.push(...(await finalMessageFailures(operator, [...listeners, ...late])));
    await Promise.all([...listeners, ...late].map((listener) => listener.stop()));
    const events = await outbox.finish();
    const resetCount = listeners.reduce((sum, { resets }) => sum + resets, 0);
    const received = listeners.reduce((sum, { segments }) => sum + segments.reduce((n, { messages }) => n + messages.length, 0), 0);
    print(
      `${events.length} events; ${listeners.length} listeners received ${received} messages over ${listeners.reduce((n, l) => n + l.connections, 0)} connections, with ${resetCount} resets`,
    );

    failures.push(
      ...violations,
      ...injector.violations,
      ...neighbours.violations,
      ...neighbours.refusalFailures(ledger.refusals, outages),
      ...(failovers === 'postgres' ? outages.longerThan(MAX_OUTAGE_MS) : []),
      ...streamFailures(listeners, events, await lossesOfRedis(system, injector)),
      ...streamFailures(late, events, 1),
      ...(await scoreFailures(database, neighbours.scoreIds)),
    );
    failures.push(
      ...(await confirmationFailures(database, confirmed, events)),
      ...(await duplicateRows(database)),
      ...(await responseFailures(operator, clientOf, confirmed)),
    );
    failures.push(...(await balanceFailures(database, chain, { usdc: env.USDC_MINT ?? '', reward: env.REWARD_MINT ?? '' }, confirmed)));
    failures.push(
      ...(await roundFailures(database, { url: operator.nextUrl(), rpc: localnet.url, draws: env.DRAWS_ADDRESS ?? '' }, confirmed, verified)),
    );
    failures.push(...(await boardFailures(system)), ...(await audit(system)));
    return { failures, log: injector.log };
  } finally {
    load.over = true;
    await Promise.all([...listeners, ...late].map((listener) => listener.stop()));
    await injector.stop();
    await outages.stop();
    await Promise.allSettled(actors);
    await outbox.finish().catch(() => undefined);
    await database.close();
  }
}

/** Returns how often Redis may have lost events: the injected losses, and all failovers of a group. */
async function lossesOfRedis({ redis }: System, injector: FaultInjector): Promise<number> {
  return injector.redisKills + ((await redis.failovers?.()) ?? 0);
}

/** Acts as the operator who resumes payouts after each failover of PostgreSQL. */
async function reconcileUntilOver(operator: Client, load: LoadContext): Promise<void> {
  while (!load.over) {
    await ignoreAbandoned(() => reconcile(operator));
    for (let waited = 0; waited < RECONCILIATION_EVERY_MS && !load.over; waited += 200) await sleep(200);
  }
}

/** Lets a worker compare the database with the chain at once. After a failover, payouts and roots are paused until this comparison. */
async function reconcile(operator: Client): Promise<void> {
  await adminRequest(operator, '/admin/payouts/resume', { json: { acknowledge: [] } });
  await sleep(1_000);
}

const RECONCILIATION_EVERY_MS = 10_000;
const DELIVERY_TIMEOUT_MS = 180_000;
const RESEND_MS = 5_000;

/**
 * Sends a final chat message and waits until every listener has received it. An earlier event that a listener has not received by then
 * is lost. The message is sent repeatedly: a listener that reconnects after a loss of the stream gets a reset and only later events.
 */
async function finalMessageFailures(client: Client, listeners: readonly Listener[]): Promise<string[]> {
  const sent: string[] = [];
  const missing = () => listeners.filter((listener) => !sent.some((messageId) => listener.hasReceived('messageId', messageId)));
  const end = performance.now() + DELIVERY_TIMEOUT_MS;
  for (let nextSendAt = 0; performance.now() < end; await sleep(100)) {
    if (performance.now() > nextSendAt) {
      const { body } = await client.request<{ messageId: string }>('/chat/message', { json: { text: 'final message' }, headers: newKey() });
      sent.push(body.messageId);
      nextSendAt = performance.now() + RESEND_MS;
    }
    if (missing().length === 0) return [];
  }
  return missing().map((listener) => `${listener.name} has not received the final message: ${listener.position}`);
}

/** Compares the boards in Redis with the database for up to two minutes, because a lost board is rebuilt within seconds. */
async function boardFailures({ postgres, redis }: System): Promise<string[]> {
  const stores = { databaseUrl: postgres.url, redisUrl: redis.url, redisPrefix: 'coinop' };
  const end = performance.now() + 120_000;
  for (;;) {
    const found = await contradictions(stores);
    if (found.length === 0 || performance.now() > end) return found.slice(0, 10);
    await sleep(200);
  }
}
