import { z } from 'zod';
import { NODES } from '../rpc/node.ts';

const slots = z.number().int().min(0).max(10_000_000);
const node = z.enum(NODES);
/**
 * Maximum number of slots by which a node may be behind the cluster. It must be less than 512, because the cluster stores the account states of the
 * last 512 slots only.
 */
const MAX_LAG_SLOTS = 400;
const address = z.string().min(32).max(44);

/** A fault, and the conditions that a request must meet to be affected. If `times` is missing, the fault stays active until the command `clear`. */
export const FaultRule = z.strictObject({
  /**
   * - `drop`: the node accepts the transaction, but the transaction never lands
   * - `loseReply`: the transaction lands, but the connection is closed (or `status` is returned) instead of the response
   * - `late`: the transaction lands `slots` slots later or, if `last` is true, in the last block for which its blockhash is valid
   * - `fork`: the transaction lands; `slots` slots later a fork replaces the transaction's block if that block is not finalized yet
   * - `delay`: responses are sent `ms` milliseconds later
   * - `rateLimit`: the request fails with 429 and Retry-After (`retryAfter` seconds)
   * - `fail`: the request fails with `status` (default 503) and has no effect
   * - `cut`: the connection is closed and the request has no effect
   */
  kind: z.enum(['drop', 'loseReply', 'late', 'fork', 'delay', 'rateLimit', 'fail', 'cut']),
  /** The fault affects only requests to this node (default: all nodes). */
  node: node.optional(),
  /** The fault affects only requests that call one of these methods (default: sendTransaction for `loseReply`, all methods for other kinds). */
  methods: z.array(z.string()).optional(),
  /**
   * The fault affects only sendTransaction calls whose transaction uses this account, and calls of other methods whose parameters contain this
   * address.
   */
  mentions: address.optional(),
  /**
   * The fault affects only sendTransaction calls whose transaction has this signature, and calls of other methods whose parameters contain this
   * signature.
   */
  signature: z.string().optional(),
  /** Maximum number of requests or transactions that the fault affects (default: no maximum). */
  times: z.number().int().min(1).optional(),
  /** Probability that the fault affects a matching request, 0 to 1 (default: 1). Faults with the same `seed` make the same random decisions. */
  probability: z.number().min(0).max(1).optional(),
  seed: z.number().int().optional(),
  slots: slots.optional(),
  last: z.boolean().optional(),
  ms: z.number().int().min(0).max(600_000).optional(),
  status: z.number().int().min(400).max(599).optional(),
  retryAfter: z.number().int().min(0).optional(),
});
export type FaultRule = z.input<typeof FaultRule>;

const Data = z.base64();
export const AccountUpdate = z.strictObject({
  address,
  /** New state of the account. If missing, the account is closed. */
  account: z
    .strictObject({ lamports: z.number().int().min(0), owner: address, data: Data.default(''), executable: z.boolean().default(false) })
    .optional(),
});

/** The competition for blocks; see `Market` in `cluster/congestion.ts`. */
export const MarketOptions = z.strictObject({
  blockUnits: z.number().int().min(1_000).max(100_000_000).default(3_000_000),
  accountUnits: z.number().int().min(1_000).max(100_000_000).default(600_000),
  load: z.number().min(0).max(20).default(2),
  otherUnits: z.number().int().min(1_000).max(1_400_000).default(60_000),
  median: z.number().min(0).max(1e9).default(10_000),
  spread: z.number().min(0).max(5).default(1),
  wave: z.number().min(1).max(100).default(1),
  waveSlots: z.number().int().min(1).max(1_000_000).default(400),
  hot: z
    .array(z.strictObject({ address, share: z.number().min(0).max(1) }))
    .max(30)
    .default([]),
  seed: z.number().int().min(0).max(1_000_000).default(1),
});
export type MarketOptions = z.input<typeof MarketOptions>;

/** Schemas of the command bodies, keyed by the name of the command. The path of a command is `/control/<name>`. */
export const COMMANDS = {
  status: z.strictObject({}),
  fault: FaultRule,
  /** Starts congestion: transactions compete with simulated transactions of other senders for space in the blocks. Null ends the congestion. */
  congest: z.strictObject({ market: MarketOptions.nullable() }),
  clear: z.strictObject({ id: z.number().int().optional() }),
  advance: z.strictObject({ slots }),
  skip: z.strictObject({ slots }),
  pause: z.strictObject({}),
  resume: z.strictObject({}),
  /** Sets the clock of the cluster. `offsetMs`: time of the cluster minus the system time, ms. `at`: the new time of the cluster. */
  time: z.union([z.strictObject({ offsetMs: z.number().int() }), z.strictObject({ at: z.iso.datetime() })]),
  fork: z.strictObject({ signature: z.string() }),
  lag: z.strictObject({ node: node.default('first'), slots: slots.max(MAX_LAG_SLOTS) }),
  /**
   * Separates the second node from the cluster.
   * - `stopped`: the node shows no block after the current one, so it falls further and further behind
   * - `apart`: the node has its own accounts and ledger. A transaction that either node receives lands in both ledgers, unless a fault (`drop`, `late`,
   *   `fork`) that is limited to one node affects it. Both ledgers have the same slots and block hashes
   * - `forked`: as `apart`, but later blocks have other hashes, so a transaction with a later blockhash lands only where the hash is from
   * An airdrop lands only in the ledger of the node that receives the request.
   */
  split: z.strictObject({ how: z.enum(['stopped', 'apart', 'forked']) }),
  /** Ends the separation: the second node shows the first node's ledger, and transactions that landed only in its own ledger disappear. */
  rejoin: z.strictObject({}),
  /**
   * Makes a false statement of a node about a transaction, or about every transaction if `signature` is missing: the transaction does not exist
   * (`denied`), failed, or succeeded. `truth` ends the statement. Accounts are not affected.
   */
  claim: z.strictObject({ node: node.default('second'), signature: z.string().optional(), says: z.enum(['denied', 'failed', 'succeeded', 'truth']) }),
  /** Limits the credits of a node per second (null: no limit). A call costs 1 credit, or the number in `credits` for its method. */
  limit: z.strictObject({
    node: node.default('first'),
    perSecond: z.number().int().min(1).nullable(),
    credits: z.record(z.string(), z.number().int().min(0)).default({}),
  }),
  /** Deletes the history of a node before the slot `before`, or its whole history if `before` is missing. */
  purge: z.strictObject({ node: node.default('first'), before: slots.optional() }),
  /** Writes accounts, in the ledgers of all nodes or of one node. */
  accounts: z.strictObject({ accounts: z.array(AccountUpdate).min(1).max(10_000), node: node.optional() }),
  freeze: z.strictObject({ tokenAccount: address, frozen: z.boolean() }),
  /** Adds `count` transactions of a stranger to the current block. Each names all of the addresses. */
  strangers: z.strictObject({ addresses: z.array(address).min(1).max(30), count: z.number().int().min(1).max(10_000) }),
  beacon: z.strictObject({
    stopped: z.boolean().optional(),
    delayMs: z.number().int().min(0).max(600_000).optional(),
    wrong: z.boolean().optional(),
  }),
} as const;

export type CommandName = keyof typeof COMMANDS;
export type Command<Name extends CommandName> = z.input<(typeof COMMANDS)[Name]>;

/** Response of the command `status`. */
export const ClusterStatus = z.object({
  slot: z.number(),
  blockHeight: z.number(),
  confirmedSlot: z.number(),
  finalizedSlot: z.number(),
  unixMs: z.number(),
  paused: z.boolean(),
  transactions: z.number(),
  /** Number of transactions that wait for a block of the congested cluster. */
  waiting: z.number(),
  faults: z.array(z.object({ id: z.number(), kind: z.string(), hits: z.number() })),
  /** Number of requests that the rate limit of each node refused. */
  refused: z.object({ first: z.number(), second: z.number() }),
});
export type ClusterStatus = z.output<typeof ClusterStatus>;
