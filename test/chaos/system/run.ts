import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair } from '@solana/web3.js';
import { type System, startSystem } from '#dev/stack/system.ts';
import { createSecret } from '#test/support/http/webhook.ts';
import { contradictions } from '#test/support/invariants.ts';
import { audit } from './audit.ts';
import { Client, newKey } from './client.ts';
import { newLedger, summary } from './confirmed.ts';
import { Database, Outbox } from './database.ts';
import { faultsOf } from './faults.ts';
import { doubled, hidden, lost } from './found.ts';
import { Havoc } from './havoc.ts';
import { Listener } from './listener.ts';
import { wrongMoney } from './money.ts';
import { giveRewards, holdRounds, sellTickets, setUp } from './operators.ts';
import { doBattle, playOn, type Scene } from './players.ts';
import { prepareCommits } from './postgres-faults.ts';
import { randomOf } from './random.ts';
import { misdrawn } from './rounds.ts';
import { settle } from './settle.ts';
import { streamFailures } from './streams.ts';
import { WalletChain } from './wallet-chain.ts';

const APIS = 2;
const WORKERS = 2;
const DRAWS = { leadSec: 4, marginSec: 1 };
const PURSE_USDC = 100;

/** How a run is made. */
export interface RunOptions {
  readonly seed: number;
  /** How long things go wrong, ms. */
  readonly forMs: number;
  readonly players: number;
  /** The longest quiet between two faults, and the longest that something is down, ms. */
  readonly quietMs: number;
  readonly downMs: number;
  /** How long all may take to come to rest, ms. */
  readonly settleMs: number;
  /** How many rounds of each kind are verified from what is public; the audit computes them all again. */
  readonly verified: number;
  /** Told of every fault as it happens, and of what came of it all. */
  readonly say: (line: string) => void;
}

/** What came of a run. */
export interface Outcome {
  /** What does not hold: a sentence each, and none when all is well. */
  readonly failures: readonly string[];
  /** Every fault, with its time. */
  readonly log: readonly string[];
}

/**
 * A whole system of real processes under a mixed load, to which happens what the seed says. Then it is left alone, and everything that it
 * has confirmed, told and paid is compared with its record and with the chain. The seed decides faults and wishes, not their timing.
 */
export async function runThroughHavoc(options: RunOptions): Promise<Outcome> {
  const bridgeSecret = createSecret();
  const system = await startSystem({
    apis: APIS,
    workers: WORKERS,
    // What is confirmed must outlive a crash of PostgreSQL.
    durable: true,
    keepingRedis: true,
    localnet: { slotMs: 20, finalizedAfter: 8, beaconMs: 1_000 },
    env: {
      ...{ LANDING_POLL_MS: '50', LANDING_RECHECK_MS: '200', LANDING_DEPTH_BLOCKS: '4', LANDING_GIVE_UP_MS: '3000' },
      ...{ DRAW_LEAD_SEC: String(DRAWS.leadSec), DRAW_MARGIN_SEC: String(DRAWS.marginSec) },
      ...{ CHAT_MESSAGES_PER_10_SEC: '1000', WEBHOOK_SECRET_CHAT_BRIDGE: bridgeSecret, LOG_LEVEL: process.env.CHAOS_LOG ?? 'silent' },
    },
  });
  try {
    return await havocOn(system, bridgeSecret, options);
  } finally {
    await system.stop();
  }
}

async function havocOn(
  system: System,
  bridgeSecret: string,
  { seed, forMs, players, quietMs, downMs, settleMs, verified, say }: RunOptions,
): Promise<Outcome> {
  const random = randomOf(seed);
  const ledger = newLedger();
  const { confirmed, complaints } = ledger;
  const { urls, localnet, env } = system;
  if (!localnet) throw new Error('there is no cluster');
  const treasury = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(env.TREASURY_KEY ?? '[]'))).publicKey;
  const chain = new WalletChain(localnet.url, env.USDC_MINT ?? '', treasury);
  const clientOf = (cookie: string) => Object.assign(new Client(urls, ledger), { cookie });
  const operator = new Client(urls, ledger);
  const clients = Array.from({ length: players }, () => new Client(urls, ledger));
  const rivals = [new Client(urls, ledger), new Client(urls, ledger)] as const;
  await setUp(operator);
  await prepareCommits(system.postgres.url);
  await Promise.all([operator, ...clients, ...rivals].map((client) => client.signIn()));
  for (const { wallet } of clients) {
    await chain.fund(wallet, PURSE_USDC);
    confirmed.purses.set(wallet, BigInt(PURSE_USDC) * 1_000_000n);
  }

  const database = new Database(system.postgres.url);
  const outbox = new Outbox(database);
  const scene: Scene = { ledger, chain, bridgeSecret, claimable: new Set(), legacyRound: null, over: false };
  const listeners = [...clients, operator].map((client) => new Listener(client, random.fork(`listener ${client === operator}`), client !== operator));
  let late: Listener[] = [];
  const havoc = new Havoc(system, say);
  const all = [operator, ...clients, ...rivals];
  for (const [i, client] of all.entries()) client.trouble = random.fork(`trouble ${i}`);
  const load = [
    ...clients.map((client, i) => playOn(client, scene, random.fork(`player ${i}`))),
    doBattle(rivals, scene, random.fork('battles')),
    holdRounds(operator, scene, random.fork('rounds')),
    sellTickets(operator, scene, random.fork('tickets')),
    giveRewards(
      operator,
      clients.map(({ wallet }) => wallet),
      scene,
      random.fork('rewards'),
    ),
  ];
  try {
    const end = performance.now() + forMs;
    const working = Promise.all(load);
    // An actor that fails ends the run, and not only when all the others are done.
    let broken = false;
    working.catch(() => (broken = true));
    await havoc.rage(faultsOf(random.fork('faults'), { apis: APIS, workers: WORKERS, quietMs, downMs }), () => broken || performance.now() > end);
    scene.over = true;
    for (const client of all) client.trouble = null;
    await havoc.calm();
    await working;
    say(summary(ledger));

    const failures = [...(await settle(system, database, settleMs))];
    say(`at rest after ${((performance.now() - end) / 1_000).toFixed(1)} s`);
    late = listeners.flatMap((listener) => listener.late());
    failures.push(...(await lastWord(operator, [...listeners, ...late])));
    await Promise.all([...listeners, ...late].map((listener) => listener.stop()));
    const events = await outbox.finish();
    const reset = listeners.reduce((sum, { resets }) => sum + resets, 0);
    const heard = listeners.reduce((sum, { stretches }) => sum + stretches.reduce((n, { messages }) => n + messages.length, 0), 0);
    say(
      `${events.length} events; ${listeners.length} listeners heard ${heard} messages over ${listeners.reduce((n, l) => n + l.connections, 0)} connections, with ${reset} resets`,
    );

    failures.push(...complaints, ...havoc.complaints, ...streamFailures(listeners, events, havoc.redisKills), ...streamFailures(late, events, 1));
    failures.push(...(await lost(database, confirmed, events)), ...(await doubled(database)), ...(await hidden(operator, clientOf, confirmed)));
    failures.push(...(await wrongMoney(database, chain, { usdc: env.USDC_MINT ?? '', reward: env.REWARD_MINT ?? '' }, confirmed)));
    failures.push(
      ...(await misdrawn(
        database,
        { url: operator.nextUrl(), rpc: localnet.url, committer: env.COMMITTER_KEY ?? '', ...DRAWS },
        confirmed,
        verified,
      )),
    );
    failures.push(...(await boards(system)), ...(await audit(system)));
    return { failures, log: havoc.log };
  } finally {
    scene.over = true;
    await Promise.all([...listeners, ...late].map((listener) => listener.stop()));
    await havoc.stop();
    await Promise.allSettled(load);
    await outbox.finish().catch(() => undefined);
    await database.close();
  }
}

const HEARD_WITHIN_MS = 60_000;
const SAID_AGAIN_MS = 5_000;

/**
 * Says something last, and waits until all have heard it: what they have not heard by then, they have missed. It is said again and
 * again: whoever comes back after it, and to a stream that was lost since, is told of a reset, and of nothing before.
 */
async function lastWord(client: Client, listeners: readonly Listener[]): Promise<string[]> {
  const said: string[] = [];
  const deaf = () => listeners.filter((listener) => !said.some((messageId) => listener.heard('messageId', messageId)));
  const end = performance.now() + HEARD_WITHIN_MS;
  for (let sayAt = 0; performance.now() < end; await sleep(100)) {
    if (performance.now() > sayAt) {
      const { body } = await client.ask<{ messageId: string }>('/chat/message', { json: { text: 'the last word' }, headers: newKey() });
      said.push(body.messageId);
      sayAt = performance.now() + SAID_AGAIN_MS;
    }
    if (deaf().length === 0) return [];
  }
  return deaf().map((listener) => `${listener.name} has not heard the last word: ${listener.whereabouts}`);
}

/** Boards in Redis are put right within seconds. */
async function boards({ postgres, redis }: System): Promise<string[]> {
  const places = { databaseUrl: postgres.url, redisUrl: redis.url, redisPrefix: 'coinop' };
  const end = performance.now() + 20_000;
  for (;;) {
    const found = await contradictions(places);
    if (found.length === 0 || performance.now() > end) return found.slice(0, 10);
    await sleep(200);
  }
}
