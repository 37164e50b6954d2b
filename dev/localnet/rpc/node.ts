import type { Chain } from '../cluster/chain.ts';
import type { LandedTransaction } from '../cluster/ledger.ts';
import type { WireTransaction } from '../cluster/wire.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** Names of the RPC nodes. Both serve the same ledger; each has its own faults. */
export const NODES = ['first', 'second'] as const;
export type NodeName = (typeof NODES)[number];

/** Blocks for which getSignatureStatuses finds a transaction without `searchTransactionHistory`. */
const RECENT_BLOCKS = 300;

/** One RPC node: a view of the chain with a lag and a start of history. */
export class Node {
  readonly name: NodeName;
  readonly chain: Chain;
  /** Number of slots that this node is behind. */
  lag = 0;
  /** First slot in the history of this node. */
  firstSlot = 0;
  /** Handles a transaction that passed preflight. The localnet replaces this function to inject faults. */
  submit: (tx: WireTransaction) => void;

  constructor(name: NodeName, chain: Chain) {
    this.name = name;
    this.chain = chain;
    this.submit = (tx) => void chain.land(tx);
  }

  /** Slot of the newest block that this node knows; without a lag, the block that is still open. */
  get tip(): number {
    const { clock } = this.chain;
    return clock.lastBlock(Math.max(0, this.chain.tick() - this.lag));
  }

  slot(commitment: Commitment): number {
    const { tip, chain } = this;
    if (commitment === 'processed') return tip;
    return commitment === 'confirmed' ? chain.confirmed(tip) : chain.finalized(tip);
  }

  /** Returns the slot of the newest blockhash at a commitment. An open block has no blockhash. */
  hashSlot(commitment: Commitment): number {
    return Math.min(this.slot(commitment), this.chain.clock.lastBlock(this.tip - 1));
  }

  /** Returns the commitment level of a slot on this node. */
  statusOf(slot: number): Commitment {
    const { tip, chain } = this;
    if (slot <= chain.finalized(tip)) return 'finalized';
    return slot <= chain.confirmed(tip) ? 'confirmed' : 'processed';
  }

  /** Returns a landed transaction that this node can see. @param search also searches blocks older than 300 blocks */
  find(signature: string, search: boolean): LandedTransaction | null {
    const { tip, chain } = this;
    const landed = chain.ledger.find(signature);
    if (!landed || !this.has(landed)) return null;
    const recent = chain.clock.height(tip) - chain.clock.height(landed.slot) <= RECENT_BLOCKS;
    return search || recent ? landed : null;
  }

  /** Returns whether a transaction's block is within the tip and the history of this node. */
  has(landed: LandedTransaction): boolean {
    return landed.slot <= this.tip && landed.slot >= this.firstSlot;
  }
}
