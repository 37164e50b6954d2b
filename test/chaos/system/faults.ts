import type { Command, FaultRule as RpcFault } from '#dev/localnet/control/commands.ts';
import type { Random } from './random.ts';

export type RpcNodeName = 'first' | 'second';
/** What a node says about every transaction, whether it is true or not. */
type Lie = Exclude<Command<'claim'>['says'], 'truth'>;

/** A fault. All parameters are drawn from the seed before the fault begins. Durations in ms. */
export type ChaosFault =
  | { readonly kind: 'kill' | 'stop'; readonly role: 'api' | 'worker'; readonly index: number; readonly downMs: number }
  | { readonly kind: 'freeze'; readonly role: 'api' | 'worker'; readonly index: number; readonly downMs: number }
  | { readonly kind: 'redis'; readonly empty: boolean; readonly downMs: number }
  | { readonly kind: 'postgres' | 'localnet'; readonly downMs: number }
  | { readonly kind: 'switchover' | 'crash' }
  | { readonly kind: 'cut'; readonly what: 'postgres' | 'redis' }
  | { readonly kind: 'stall'; readonly table: string; readonly forMs: number }
  | { readonly kind: 'commits'; readonly share: number; readonly forMs: number }
  | { readonly kind: 'rpc'; readonly fault: RpcFault; readonly forMs: number }
  | { readonly kind: 'stale'; readonly node: RpcNodeName; readonly slots: number; readonly forMs: number }
  | { readonly kind: 'lie'; readonly node: RpcNodeName; readonly says: Lie; readonly forMs: number }
  | { readonly kind: 'limit'; readonly node: RpcNodeName; readonly perSecond: number; readonly forMs: number }
  | { readonly kind: 'purge'; readonly node: RpcNodeName; readonly forMs: number }
  | { readonly kind: 'congest'; readonly median: number; readonly forMs: number }
  | { readonly kind: 'beacon'; readonly forMs: number };

/** A fault and the pause before it, ms. */
export interface PlannedFault {
  readonly afterMs: number;
  readonly fault: ChaosFault;
}

/** The limits for the parameters of faults. */
export interface FaultPlan {
  readonly apis: number;
  readonly workers: number;
  /** Maximum pause between two faults, ms. */
  readonly quietMs: number;
  /** Maximum downtime of a process or server, ms. */
  readonly downMs: number;
}

export type DrawFault = (random: Random, plan: FaultPlan) => ChaosFault;

export const downTime = (random: Random, { downMs }: FaultPlan) => random.between(0, downMs);
export const rpc =
  (draw: (random: Random) => RpcFault): DrawFault =>
  (random, plan) => ({
    kind: 'rpc',
    // The service uses the first node, wallets the second. A fork also affects the transactions of wallets, because the ledger is shared.
    fault: { node: 'first', probability: random.between(3, 10) / 10, seed: random.between(1, 1_000_000), ...draw(random) },
    forMs: random.between(500, plan.downMs),
  });

/** Maximum time of a table lock, ms. With a longer lock, waiting requests would time out. */
const MAX_LOCK_MS = 800;
const TABLES = ['players', 'scores', 'ledger', 'activities', 'standings', 'chat_messages', 'entries', 'payments', 'claims', 'chain_attempts'];

/** The faults of any system: of its processes, connections, tables and RPC nodes. */
const COMMON_DECK: readonly DrawFault[] = [
  (r, p) => ({ kind: 'kill', role: 'api', index: r.between(0, p.apis - 1), downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'kill', role: 'worker', index: r.between(0, p.workers - 1), downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'kill', role: 'worker', index: r.between(0, p.workers - 1), downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'stop', role: r.pick(['api', 'worker']), index: r.between(0, Math.min(p.apis, p.workers) - 1), downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'freeze', role: 'worker', index: r.between(0, p.workers - 1), downMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'freeze', role: 'api', index: r.between(0, p.apis - 1), downMs: r.between(200, p.downMs) }),
  (r, p) => ({ kind: 'localnet', downMs: downTime(r, p) }),
  () => ({ kind: 'cut', what: 'postgres' }),
  (r, p) => ({ kind: 'stall', table: 'outbox', forMs: r.between(100, Math.min(p.downMs, MAX_LOCK_MS)) }),
  (r, p) => ({ kind: 'stall', table: r.pick(TABLES), forMs: r.between(100, Math.min(p.downMs, MAX_LOCK_MS)) }),
  (r, p) => ({ kind: 'commits', share: r.between(2, 6) / 10, forMs: r.between(500, p.downMs) }),
  () => ({ kind: 'cut', what: 'redis' }),
  rpc(() => ({ kind: 'drop', methods: ['sendTransaction'] })),
  rpc(() => ({ kind: 'loseReply', methods: ['sendTransaction'] })),
  rpc((r) => ({ kind: 'late', methods: ['sendTransaction'], slots: r.between(5, 40) })),
  rpc((r) => ({ kind: 'fork', methods: ['sendTransaction'], slots: r.between(1, 6), probability: 0.3 })),
  rpc((r) => ({ kind: 'delay', ms: r.between(100, 1_500) })),
  rpc(() => ({ kind: 'rateLimit', retryAfter: 1 })),
  rpc((r) => ({ kind: 'fail', status: r.pick([500, 502, 503]) })),
  rpc(() => ({ kind: 'cut' })),
  (r, p) => ({ kind: 'stale', node: 'first', slots: r.between(5, 100), forMs: r.between(500, p.downMs) }),
  (r, p) => ({ kind: 'beacon', forMs: r.between(500, p.downMs) }),
];

/** The faults of a system with one PostgreSQL and one Redis. */
const SINGLE_SERVER_DECK: readonly DrawFault[] = [
  ...COMMON_DECK,
  (r, p) => ({ kind: 'redis', empty: true, downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'redis', empty: false, downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'postgres', downMs: downTime(r, p) }),
  () => ({ kind: 'postgres', downMs: 0 }),
];

/** The faults of a system whose PostgreSQL and Redis fail over, beside `failoversOf`. */
export const REPLICATED_DECK = COMMON_DECK;

const POSTGRES_FAILOVERS: readonly DrawFault[] = [
  (r, p) => ({ kind: 'postgres', downMs: downTime(r, p) }),
  () => ({ kind: 'switchover' }),
  () => ({ kind: 'crash' }),
];
const REDIS_FAILOVERS: readonly DrawFault[] = [
  (r, p) => ({ kind: 'redis', empty: false, downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'redis', empty: true, downMs: downTime(r, p) }),
];
/** Minimum and maximum pause between two failovers, ms. Failovers of PostgreSQL and Redis take turns, so each has the time of two pauses to recover. */
const FAILOVER_PAUSE_MS = [20_000, 35_000] as const;

/** Yields losses and changes of the primaries of PostgreSQL and Redis in turn, without end. Precondition: each has ended before the next pause. */
export function* failoversOf(random: Random, plan: FaultPlan): Generator<PlannedFault, never> {
  const pause = () => random.between(...FAILOVER_PAUSE_MS);
  const postgres = drawn(random, POSTGRES_FAILOVERS);
  const redis = drawn(random, REDIS_FAILOVERS);
  for (;;) {
    yield { afterMs: pause(), fault: postgres.next().value(random, plan) };
    yield { afterMs: pause(), fault: redis.next().value(random, plan) };
  }
}

/** A loss of the primary of PostgreSQL, then a switchover back, and half a minute without faults. */
export const PLANNED_FAILOVERS: readonly PlannedFault[] = [
  { afterMs: 6_000, fault: { kind: 'postgres', downMs: 0 } },
  { afterMs: 0, fault: { kind: 'switchover' } },
  { afterMs: 45_000, fault: { kind: 'cut', what: 'postgres' } },
];

/** Yields the faults of a run, without end. Each fault of the deck is used once before any is repeated. */
export function* faultsOf(random: Random, plan: FaultPlan, deck: readonly DrawFault[] = SINGLE_SERVER_DECK): Generator<PlannedFault, never> {
  for (;;) for (const draw of random.shuffled(deck)) yield { afterMs: random.between(0, plan.quietMs), fault: draw(random, plan) };
}

/** Yields the faults of a deck in random order, again and again. */
function* drawn(random: Random, deck: readonly DrawFault[]): Generator<DrawFault, never> {
  for (;;) yield* random.shuffled(deck);
}

/** Returns a one-line description of a fault for the log. */
export function describeFault(fault: ChaosFault): string {
  switch (fault.kind) {
    case 'kill':
    case 'stop':
    case 'freeze':
      return `${{ kill: 'kill -9', stop: 'SIGTERM', freeze: 'SIGSTOP' }[fault.kind]} ${fault.role}-${fault.index + 1} for ${fault.downMs} ms`;
    case 'redis':
      return `Redis killed for ${fault.downMs} ms, ${fault.empty ? 'with loss of its data' : 'without loss of its data'}`;
    case 'postgres':
      return `PostgreSQL crashed for ${fault.downMs} ms`;
    case 'switchover':
      return 'the standby of PostgreSQL becomes the primary';
    case 'crash':
      return 'PostgreSQL crashed and starts again by itself';
    case 'localnet':
      return `localnet killed for ${fault.downMs} ms`;
    case 'cut':
      return `every connection to ${fault.what === 'redis' ? 'Redis' : 'PostgreSQL'} closed`;
    case 'stall':
      return `the table ${fault.table} locked for ${fault.forMs} ms, then the waiting connections closed`;
    case 'commits':
      return `connections closed at ${100 * fault.share} % of all commits for ${fault.forMs} ms`;
    case 'rpc':
      return `RPC fault ${JSON.stringify(fault.fault)} for ${fault.forMs} ms`;
    case 'stale':
      return `the ${fault.node} node ${fault.slots} slots behind for ${fault.forMs} ms`;
    case 'lie':
      return `the ${fault.node} node says "${fault.says}" of every transaction for ${fault.forMs} ms`;
    case 'limit':
      return `the ${fault.node} node serves ${fault.perSecond} calls per second for ${fault.forMs} ms`;
    case 'purge':
      return `the ${fault.node} node without its history for ${fault.forMs} ms`;
    case 'congest':
      return `blocks full at a median price of ${fault.median} for ${fault.forMs} ms`;
    case 'beacon':
      return `the beacon stopped for ${fault.forMs} ms`;
  }
}
