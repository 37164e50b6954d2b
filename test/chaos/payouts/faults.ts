import { type DrawFault, downTime, type RpcNodeName, rpc } from '../system/faults.ts';
import type { Random } from '../system/random.ts';

const BOTH: readonly RpcNodeName[] = ['first', 'second'];

/** Faults of a provider, for each of the two. A node that lies, lies about every transaction. */
const ofProvider = (node: RpcNodeName): readonly DrawFault[] => [
  (r, p) => ({ kind: 'stale', node, slots: r.between(10, 200), forMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'lie', node, says: 'denied', forMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'lie', node, says: r.pick(['failed', 'succeeded']), forMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'limit', node, perSecond: r.between(5, 40), forMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'purge', node, forMs: r.between(500, p.downMs) }),
  rpc(() => ({ kind: 'cut', node, probability: 1 })),
  rpc((r) => ({ kind: 'delay', node, ms: r.between(500, 4_000) })),
  rpc((r) => ({ kind: 'rateLimit', node, retryAfter: r.between(0, 2) })),
];

/** Congestion: transactions compete for full blocks, do not land, land late, land without a reply, or are dropped by a fork. */
const CONGESTION: readonly DrawFault[] = [
  ...Array.from(
    { length: 4 },
    (): DrawFault => (r, p) => ({ kind: 'congest', median: r.pick([2_000, 10_000, 50_000]), forMs: r.between(2_000, 4 * p.downMs) }),
  ),
  rpc(() => ({ kind: 'drop', methods: ['sendTransaction'] })),
  rpc(() => ({ kind: 'drop', methods: ['sendTransaction'], probability: 1 })),
  rpc(() => ({ kind: 'loseReply', methods: ['sendTransaction'] })),
  rpc((r) => ({ kind: 'late', methods: ['sendTransaction'], slots: r.between(5, 120) })),
  rpc(() => ({ kind: 'late', methods: ['sendTransaction'], last: true, probability: 0.3 })),
  rpc((r) => ({ kind: 'fork', methods: ['sendTransaction'], slots: r.between(1, 6), probability: 0.3 })),
];

const killed = (r: Random, workers: number) => ({ kind: 'kill' as const, role: 'worker' as const, index: r.between(0, workers - 1) });

/** The faults of a run of payments: kills, congestion, and misbehaving providers. */
export const PAYOUTS_DECK: readonly DrawFault[] = [
  ...Array.from({ length: 6 }, (): DrawFault => (r, p) => ({ ...killed(r, p.workers), downMs: downTime(r, p) })),
  (r, p) => ({ kind: 'freeze', role: 'worker', index: r.between(0, p.workers - 1), downMs: r.between(500, 2 * p.downMs) }),
  (r, p) => ({ kind: 'kill', role: 'api', index: r.between(0, p.apis - 1), downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'redis', empty: r.between(0, 1) === 1, downMs: downTime(r, p) }),
  (r, p) => ({ kind: 'postgres', downMs: downTime(r, p) }),
  () => ({ kind: 'cut', what: 'postgres' }),
  ...CONGESTION,
  ...BOTH.flatMap(ofProvider),
];
