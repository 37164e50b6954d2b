import { type System, startSystem } from '#dev/stack/system.ts';
import { addressOfKey } from '#test/support/solana/chain.ts';
import { audit } from '../system/audit.ts';
import { balanceFailures } from '../system/balances.ts';
import { Client } from '../system/client.ts';
import { newRunRecord, summary } from '../system/confirmed.ts';
import { Database } from '../system/database.ts';
import { FaultInjector } from '../system/fault-injector.ts';
import { faultsOf } from '../system/faults.ts';
import { runEpochs } from '../system/operators.ts';
import type { LoadContext } from '../system/players.ts';
import { randomOf } from '../system/random.ts';
import type { ChaosResult, RunOptions } from '../system/run.ts';
import { settle } from '../system/settle.ts';
import { WalletChain } from '../system/wallet-chain.ts';
import { PAYOUTS_DECK } from './faults.ts';
import { runClaims, runPayments } from './load.ts';
import { Operator } from './operator.ts';
import { Strangers } from './strangers.ts';

const APIS = 1;
const WORKERS = 2;

export type PayoutsOptions = Omit<RunOptions, 'verified'>;

/**
 * Pays and claims through real processes while strangers send transactions to every account of the service, the cluster is congested, both providers
 * misbehave, and processes are killed. Then the faults stop, and balances and audit must be exact.
 */
export async function runPayouts(options: PayoutsOptions): Promise<ChaosResult> {
  const system = await startSystem({
    ...{ apis: APIS, workers: WORKERS, durable: true, durableRedis: true },
    localnet: { slotMs: 50, finalizedAfter: 8, beaconMs: 1_000 },
    env: {
      ...{ LANDING_POLL_MS: '100', LANDING_RECHECK_MS: '500', LANDING_DEPTH_BLOCKS: '4', LANDING_GIVE_UP_MS: '4000', PAYOUT_LANES: '4' },
      // The limits of the providers below are lower, so the service meets both: its own budget, and 429 from the providers.
      SOLANA_RPC_PER_SECOND: '200',
      ...{ LOG_LEVEL: process.env.CHAOS_LOG ?? 'silent' },
    },
  });
  const database = new Database(system.postgres.url);
  const operator = new Operator(system.urls[0] ?? '');
  try {
    return await runOn(system, database, operator, options);
  } finally {
    await database.close();
    await system.stop();
  }
}

async function runOn(system: System, database: Database, operator: Operator, options: PayoutsOptions): Promise<ChaosResult> {
  const { seed, forMs, players, quietMs, downMs, settleMs, print } = options;
  const random = randomOf(seed);
  const ledger = newRunRecord();
  const { urls, localnet, env } = system;
  if (!localnet) throw new Error('the system has no localnet');
  const chain = new WalletChain(localnet.url, env.USDC_MINT ?? '', addressOfKey(env.TREASURY_KEY));
  const strangers = new Strangers(system, database, forMs);
  await strangers.fund();
  const admin = new Client(urls, ledger);
  const clients = Array.from({ length: players }, () => new Client(urls, ledger));
  await Promise.all([admin, ...clients].map((client) => client.signIn()));

  const load: LoadContext = { ledger, chain, bridgeSecret: '', claimable: new Set(), legacyRound: null, over: false };
  const isOver = () => load.over;
  const injector = new FaultInjector(system, print);
  const wallets = clients.map(({ wallet }) => wallet);
  const actors = [
    runPayments(admin, load, random.fork('payments')),
    runEpochs(new Client(urls, ledger), wallets, load, random.fork('rewards')),
    ...clients.map((client, i) => runClaims(client, load, random.fork(`player ${i}`), strangers)),
    strangers.run(isOver),
  ];
  let settled = false;
  const operating = operator.run(() => settled);
  try {
    const end = performance.now() + forMs;
    const working = Promise.all(actors);
    // The first actor that throws ends the run, without waiting for the other actors.
    let broken = false;
    working.catch(() => (broken = true));
    const plan = { apis: APIS, workers: WORKERS, quietMs, downMs };
    await injector.inject(faultsOf(random.fork('faults'), plan, PAYOUTS_DECK), () => broken || performance.now() > end);
    load.over = true;
    await injector.clearFaults();
    await working;
    print(summary(ledger));
    const failures = [...(await settle(system, database, settleMs))];
    print(`no work pending after ${((performance.now() - end) / 1_000).toFixed(1)} s`);
    settled = true;
    await operating;
    await printNumbers(database, strangers, operator, print);
    const mints = { usdc: env.USDC_MINT ?? '', reward: env.REWARD_MINT ?? '' };
    failures.push(...ledger.violations, ...injector.violations);
    failures.push(...(await balanceFailures(database, chain, mints, ledger.confirmed, { unattributed: true })), ...(await audit(system)));
    return { failures, log: injector.log };
  } finally {
    load.over = true;
    settled = true;
    await operating;
    await injector.stop();
    await Promise.allSettled(actors);
  }
}

async function printNumbers(database: Database, strangers: Strangers, operator: Operator, print: (line: string) => void): Promise<void> {
  const times = await database.rows<{ what: string; n: number; median: number; p95: number; max: number }>(
    `select what, count(*)::int as n, percentile_cont(0.5) within group (order by s)::float8 as median,
       percentile_cont(0.95) within group (order by s)::float8 as p95, max(s)::float8 as max
     from (select 'payments' as what, extract(epoch from completed_at - created_at) as s from payments where state = 'completed'
       union all select 'transactions of type ' || kind, extract(epoch from changed_at - created_at) from chain_transactions where state = 'finalized') t
     group by what order by what`,
  );
  for (const { what, n, median, p95, max } of times)
    print(`${n} ${what}: median ${median.toFixed(1)} s, 95 % ${p95.toFixed(1)} s, longest ${max.toFixed(1)} s`);
  const [claims] = await database.rows<{ n: number; foreign: number; unattributed: number }>(
    `select count(*)::int as n, (count(*) filter (where signature is null))::int as unattributed, 
       (count(*) filter (where not exists (select from chain_attempts a where a.signature = c.signature)))::int as foreign
     from claims c where state = 'claimed'`,
  );
  print(`${claims?.n} claims are claimed, ${claims?.foreign} of them by strangers, ${claims?.unattributed} of these without a known signature`);
  print(`strangers sent ${strangers.memos} transactions that name accounts of the service, and ${strangers.dust} with dust`);
  print(`contradictions that an operator resumed: ${[...operator.resumed].map(([type, n]) => `${type} × ${n}`).join(', ') || 'none'}`);
}
