import type { Chain } from './cluster/chain.ts';
import type { Landed } from './cluster/ledger.ts';
import type { WireTransaction } from './cluster/wire.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** Names of the nodes: each sees the same ledger, with faults of its own. */
export const NODES = ['first', 'second'] as const;
export type NodeName = (typeof NODES)[number];

/** Blocks for which a status is remembered without looking into history. */
const RECENT_BLOCKS = 300;

/** One RPC node: what it has seen of the chain, and what it still has. */
export class Node {
  readonly name: NodeName;
  readonly chain: Chain;
  /** How many slots it lags. */
  lag = 0;
  /** Its history begins at this slot. */
  firstSlot = 0;
  /** What becomes of a transaction that it takes in. */
  submit: (tx: WireTransaction) => void;

  constructor(name: NodeName, chain: Chain) {
    this.name = name;
    this.chain = chain;
    this.submit = (tx) => void chain.land(tx);
  }

  /** The newest block it knows: at `processed` the one in the making. */
  get tip(): number {
    const { clock } = this.chain;
    return clock.lastBlock(Math.max(0, this.chain.tick() - this.lag));
  }

  slot(commitment: Commitment): number {
    const { tip, chain } = this;
    if (commitment === 'processed') return tip;
    return commitment === 'confirmed' ? chain.confirmed(tip) : chain.finalized(tip);
  }

  /** Slot of the newest blockhash at a commitment: a block in the making has none yet. */
  hashSlot(commitment: Commitment): number {
    return Math.min(this.slot(commitment), this.chain.clock.lastBlock(this.tip - 1));
  }

  /** How sure a block is, in this node's eyes. */
  statusOf(slot: number): Commitment {
    const { tip, chain } = this;
    if (slot <= chain.finalized(tip)) return 'finalized';
    return slot <= chain.confirmed(tip) ? 'confirmed' : 'processed';
  }

  /** A transaction this node knows of. */
  find(signature: string, search: boolean): Landed | null {
    const { tip, chain } = this;
    const landed = chain.ledger.find(signature);
    if (!landed || !this.has(landed)) return null;
    const recent = chain.clock.height(tip) - chain.clock.height(landed.slot) <= RECENT_BLOCKS;
    return search || recent ? landed : null;
  }

  /** Whether a transaction's block has come and is still here. */
  has(landed: Landed): boolean {
    return landed.slot <= this.tip && landed.slot >= this.firstSlot;
  }
}
