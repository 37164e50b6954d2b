import type { Fault as RpcFault } from '#dev/localnet/control/orders.ts';
import type { Random } from './random.ts';

/** What goes wrong, drawn before the run begins, so that a seed tells all of it. Durations in ms. */
export type Fault =
  | { readonly kind: 'kill' | 'stop'; readonly place: 'api' | 'worker'; readonly index: number; readonly downMs: number }
  | { readonly kind: 'freeze'; readonly place: 'api' | 'worker'; readonly index: number; readonly downMs: number }
  | { readonly kind: 'redis'; readonly empty: boolean; readonly downMs: number }
  | { readonly kind: 'postgres' | 'localnet'; readonly downMs: number }
  | { readonly kind: 'cut'; readonly what: 'postgres' | 'redis' }
  | { readonly kind: 'stall'; readonly table: string; readonly forMs: number }
  | { readonly kind: 'commits'; readonly share: number; readonly forMs: number }
  | { readonly kind: 'rpc'; readonly fault: RpcFault; readonly forMs: number }
  | { readonly kind: 'stale'; readonly slots: number; readonly forMs: number }
  | { readonly kind: 'beacon'; readonly forMs: number };

/** A fault, and how long it is quiet before it, ms. */
export interface PlannedFault {
  readonly afterMs: number;
  readonly fault: Fault;
}

/** How a run is made. */
export interface Plan {
  readonly apis: number;
  readonly workers: number;
  /** The longest quiet between two faults, ms. */
  readonly quietMs: number;
  /** The longest that something is down or frozen, ms. */
  readonly downMs: number;
}

type Draw = (random: Random, plan: Plan) => Fault;

const down = (random: Random, { downMs }: Plan) => random.between(0, downMs);
const rpc =
  (draw: (random: Random) => RpcFault): Draw =>
  (random, plan) => ({
    kind: 'rpc',
    // Wallets use the second node; both nodes have the same ledger, so what happens to transactions happens to theirs, too.
    fault: { node: 'first', probability: random.between(3, 10) / 10, seed: random.between(1, 1_000_000), ...draw(random) },
    forMs: random.between(500, plan.downMs),
  });

/** Longer, and requests would be given up that wait for a table. */
const MOST_STALL_MS = 800;
const TABLES = ['players', 'scores', 'ledger', 'activities', 'standings', 'chat_messages', 'entries', 'payments', 'claims', 'chain_attempts'];

/** Every fault there is; each is drawn once before any is drawn again. */
const DECK: readonly Draw[] = [
  (r, p) => ({ kind: 'kill', place: 'api', index: r.between(0, p.apis - 1), downMs: down(r, p) }),
  (r, p) => ({ kind: 'kill', place: 'worker', index: r.between(0, p.workers - 1), downMs: down(r, p) }),
  (r, p) => ({ kind: 'kill', place: 'worker', index: r.between(0, p.workers - 1), downMs: down(r, p) }),
  (r, p) => ({ kind: 'stop', place: r.pick(['api', 'worker']), index: r.between(0, Math.min(p.apis, p.workers) - 1), downMs: down(r, p) }),
  (r, p) => ({ kind: 'freeze', place: 'worker', index: r.between(0, p.workers - 1), downMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'freeze', place: 'api', index: r.between(0, p.apis - 1), downMs: r.between(200, p.downMs) }),
  (r, p) => ({ kind: 'redis', empty: true, downMs: down(r, p) }),
  (r, p) => ({ kind: 'redis', empty: false, downMs: down(r, p) }),
  (r, p) => ({ kind: 'postgres', downMs: down(r, p) }),
  () => ({ kind: 'postgres', downMs: 0 }),
  (r, p) => ({ kind: 'localnet', downMs: down(r, p) }),
  () => ({ kind: 'cut', what: 'postgres' }),
  (r, p) => ({ kind: 'stall', table: 'outbox', forMs: r.between(100, Math.min(p.downMs, MOST_STALL_MS)) }),
  (r, p) => ({ kind: 'stall', table: r.pick(TABLES), forMs: r.between(100, Math.min(p.downMs, MOST_STALL_MS)) }),
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
  (r, p) => ({ kind: 'stale', slots: r.between(5, 100), forMs: r.between(500, p.downMs) }),
  (r, p) => ({ kind: 'beacon', forMs: r.between(500, p.downMs) }),
];

/** The faults of a run, without an end. */
export function* faultsOf(random: Random, plan: Plan): Generator<PlannedFault, never> {
  for (;;) for (const draw of random.shuffled(DECK)) yield { afterMs: random.between(0, plan.quietMs), fault: draw(random, plan) };
}

/** A fault in a line. */
export function describe(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
    case 'stop':
    case 'freeze':
      return `${{ kill: 'kill -9', stop: 'SIGTERM', freeze: 'SIGSTOP' }[fault.kind]} ${fault.place}-${fault.index + 1} for ${fault.downMs} ms`;
    case 'redis':
      return `Redis killed for ${fault.downMs} ms, ${fault.empty ? 'and its memory lost' : 'its memory kept'}`;
    case 'postgres':
      return `PostgreSQL crashed for ${fault.downMs} ms`;
    case 'localnet':
      return `localnet killed for ${fault.downMs} ms`;
    case 'cut':
      return `every connection to ${fault.what === 'redis' ? 'Redis' : 'PostgreSQL'} cut`;
    case 'stall':
      return `the table ${fault.table} locked for ${fault.forMs} ms, then those cut who wait for it`;
    case 'commits':
      return `connections cut at ${100 * fault.share} % of all commits for ${fault.forMs} ms`;
    case 'rpc':
      return `RPC fault ${JSON.stringify(fault.fault)} for ${fault.forMs} ms`;
    case 'stale':
      return `the first node ${fault.slots} slots behind for ${fault.forMs} ms`;
    case 'beacon':
      return `the beacon stopped for ${fault.forMs} ms`;
  }
}
