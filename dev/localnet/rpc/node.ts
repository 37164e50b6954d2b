import type { Chain } from '../cluster/chain.ts';
import type { LandedTransaction } from '../cluster/ledger.ts';
import type { TransactionError } from '../cluster/transaction-errors.ts';
import type { WireTransaction } from '../cluster/wire.ts';
import { RateLimit } from './rate-limit.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** Names of the RPC nodes. Both follow the same cluster, unless the second one is split off; each has its own faults and its own statements. */
export const NODES = ['first', 'second'] as const;
export type NodeName = (typeof NODES)[number];

/** Key of the statement about all transactions. */
export const EVERY_TRANSACTION = '*';

/** A statement of a node that differs from the cluster's ledger: the transaction does not exist (`null`), or it has another result. */
export type Statement = null | { readonly err: TransactionError | null };

/** Number of newest blocks in which getSignatureStatuses searches if `searchTransactionHistory` is not set. */
const RECENT_BLOCKS = 300;

/**
 * One RPC node. All nodes show the same chain, but a node may have a chain of its own (`chain`), be behind (`lag`), have stopped (`stoppedAt`), lack old
 * blocks (`firstSlot`), or make false statements about transactions (`statements`).
 */
export class Node {
  readonly name: NodeName;
  /** The chain that this node shows. The second node has its own one while it is split off. */
  chain: Chain;
  /** Number of slots by which this node is behind the cluster. */
  lag = 0;
  /** Newest slot that this node shows, because it has stopped following the cluster; null while it follows. */
  stoppedAt: number | null = null;
  /** Oldest slot whose block this node has. */
  firstSlot = 0;
  /** False statements of this node by signature. The statement for the key `*` applies to every transaction that has no statement of its own. */
  readonly statements = new Map<string, Statement>();
  /** The rate limit of this node; without one, every request is served. */
  readonly limit = new RateLimit();
  /** Handles a transaction that passed preflight. The localnet replaces this function to inject faults. */
  submit: (tx: WireTransaction) => void;

  constructor(name: NodeName, chain: Chain) {
    this.name = name;
    this.chain = chain;
    this.submit = (tx) => this.chain.receive(tx);
  }

  /** Slot of the newest block that this node knows. If `lag` is 0, transactions land in this block. */
  get tip(): number {
    const { clock } = this.chain;
    return clock.lastBlock(Math.max(0, Math.min(this.stoppedAt ?? Number.POSITIVE_INFINITY, this.chain.slot - this.lag)));
  }

  slot(commitment: Commitment): number {
    const { tip, chain } = this;
    if (commitment === 'processed') return tip;
    return commitment === 'confirmed' ? chain.confirmed(tip) : chain.finalized(tip);
  }

  /**
   * Returns the slot of the newest block that has the requested commitment and a blockhash. The block at `tip` counts as a block without a blockhash,
   * because transactions may still land in it.
   */
  hashSlot(commitment: Commitment): number {
    return Math.min(this.slot(commitment), this.chain.clock.lastBlock(this.tip - 1));
  }

  /** Returns the commitment that the block of a slot has reached on this node. */
  statusOf(slot: number): Commitment {
    const { tip, chain } = this;
    if (slot <= chain.finalized(tip)) return 'finalized';
    return slot <= chain.confirmed(tip) ? 'confirmed' : 'processed';
  }

  /**
   * Returns the landed transaction with this signature; null if this node does not find one.
   * @param search whether to search the whole history of this node (true) or only the last 300 blocks (false)
   */
  find(signature: string, search: boolean): LandedTransaction | null {
    const { tip, chain } = this;
    const found = chain.ledger.find(signature);
    const landed = found && this.has(found) ? this.view(found) : null;
    if (!landed) return null;
    const recent = chain.clock.height(tip) - chain.clock.height(landed.slot) <= RECENT_BLOCKS;
    return search || recent ? landed : null;
  }

  /** Returns a landed transaction as this node states it; null if this node denies it. */
  view(landed: LandedTransaction): LandedTransaction | null {
    const { statements } = this;
    if (statements.size === 0) return landed;
    const statement = statements.get(landed.signature) ?? (statements.has(landed.signature) ? null : statements.get(EVERY_TRANSACTION));
    if (statement === undefined) return landed;
    return statement === null ? null : { ...landed, err: statement.err };
  }

  /** Returns whether this node has the block of a transaction: the block's slot is between `firstSlot` and `tip`. */
  has(landed: LandedTransaction): boolean {
    return landed.slot <= this.tip && landed.slot >= this.firstSlot;
  }
}
