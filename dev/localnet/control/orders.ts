import { z } from 'zod';
import { NODES } from '../node.ts';

/** What the control endpoint takes: one schema per path below /control/. */
const slots = z.number().int().min(0).max(10_000_000);
const node = z.enum(NODES);
/** Older states of accounts are not kept. */
const MOST_LAG = 400;
const address = z.string().min(32).max(44);

/** What goes wrong, and when. Without `times` it goes wrong until it is cleared. */
export const Fault = z.strictObject({
  /**
   * - `drop`: a sent transaction is accepted and never lands
   * - `loseReply`: it lands, and the connection is cut (or `status` is answered) instead of the reply
   * - `late`: it lands `slots` later; `last`: in the last block that its blockhash is good for
   * - `fork`: it lands, and `slots` later (before it is final) its block turns out to be a minority's
   * - `delay`: requests are answered `ms` later
   * - `rateLimit`: 429 with Retry-After (`retryAfter` seconds)
   * - `fail`: `status` (default 503) without doing anything
   * - `cut`: the connection is closed without doing anything
   */
  kind: z.enum(['drop', 'loseReply', 'late', 'fork', 'delay', 'rateLimit', 'fail', 'cut']),
  /** Only at this node; at all of them without it. */
  node: node.optional(),
  /** Only requests that call one of these methods. */
  methods: z.array(z.string()).optional(),
  /** Only what mentions this account: sent transactions by their keys, other calls by their parameters. */
  mentions: address.optional(),
  /** Only this transaction. */
  signature: z.string().optional(),
  /** How often; for ever without it. */
  times: z.number().int().min(1).optional(),
  /** How likely, each time; drawn from `seed`, so that a run can be repeated. */
  probability: z.number().min(0).max(1).optional(),
  seed: z.number().int().optional(),
  slots: slots.optional(),
  last: z.boolean().optional(),
  ms: z.number().int().min(0).max(600_000).optional(),
  status: z.number().int().min(400).max(599).optional(),
  retryAfter: z.number().int().min(0).optional(),
});
export type Fault = z.input<typeof Fault>;

const Data = z.base64();
export const SetAccount = z.strictObject({
  address,
  /** Missing: the account is closed. */
  account: z
    .strictObject({ lamports: z.number().int().min(0), owner: address, data: Data.default(''), executable: z.boolean().default(false) })
    .optional(),
});

export const ORDERS = {
  status: z.strictObject({}),
  fault: Fault,
  clear: z.strictObject({ id: z.number().int().optional() }),
  advance: z.strictObject({ slots }),
  skip: z.strictObject({ slots }),
  pause: z.strictObject({}),
  resume: z.strictObject({}),
  /** Difference to the real time, or the time it shall be now. */
  time: z.union([z.strictObject({ offsetMs: z.number().int() }), z.strictObject({ at: z.iso.datetime() })]),
  fork: z.strictObject({ signature: z.string() }),
  lag: z.strictObject({ node: node.default('first'), slots: slots.max(MOST_LAG) }),
  /** Everything before a slot is gone from a node's history; without one, everything there is. */
  purge: z.strictObject({ node: node.default('first'), before: slots.optional() }),
  accounts: z.strictObject({ accounts: z.array(SetAccount).min(1).max(10_000) }),
  freeze: z.strictObject({ tokenAccount: address, frozen: z.boolean() }),
  beacon: z.strictObject({
    stopped: z.boolean().optional(),
    delayMs: z.number().int().min(0).max(600_000).optional(),
    wrong: z.boolean().optional(),
  }),
} as const;

export type OrderName = keyof typeof ORDERS;
export type Order<Name extends OrderName> = z.input<(typeof ORDERS)[Name]>;

/** Where the cluster stands. */
export const Status = z.object({
  slot: z.number(),
  blockHeight: z.number(),
  confirmedSlot: z.number(),
  finalizedSlot: z.number(),
  unixMs: z.number(),
  paused: z.boolean(),
  transactions: z.number(),
  faults: z.array(z.object({ id: z.number(), kind: z.string(), hits: z.number() })),
});
export type Status = z.output<typeof Status>;
