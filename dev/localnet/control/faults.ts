import { randomFrom } from '../cluster/random.ts';
import { parseTransaction, type WireTransaction } from '../cluster/wire.ts';
import { keyFromBase58 } from '../keys.ts';
import type { Node } from '../rpc/node.ts';
import type { FaultRule } from './commands.ts';

interface ActiveRule {
  readonly id: number;
  readonly fault: FaultRule;
  readonly random: () => number;
  hits: number;
}

/** The parts of a JSON-RPC call that fault rules are matched against. */
interface RpcCallView {
  readonly method: string;
  readonly params: readonly unknown[];
}

type FaultKind = FaultRule['kind'];

/** Fault kinds that apply when a node submits a transaction to the chain. All other kinds apply to the RPC request. */
const SUBMISSION_FAULTS: readonly FaultKind[] = ['drop', 'late', 'fork'];

/** The active fault rules of a localnet. */
export class Faults {
  #rules: ActiveRule[] = [];
  #lastId = 0;

  add(fault: FaultRule): number {
    const id = ++this.#lastId;
    this.#rules.push({ id, fault, random: randomFrom(fault.seed ?? id), hits: 0 });
    return id;
  }

  clear(id?: number): void {
    this.#rules = id === undefined ? [] : this.#rules.filter((rule) => rule.id !== id);
  }

  list(): { id: number; kind: string; hits: number }[] {
    return this.#rules.map(({ id, fault, hits }) => ({ id, kind: fault.kind, hits }));
  }

  /**
   * Returns the oldest active fault that has one of the given kinds and matches one of the calls; null if there is no such fault. Adds one to the
   * hits of the returned fault.
   */
  firstForCalls(kinds: readonly FaultKind[], node: Node, calls: readonly RpcCallView[]): FaultRule | null {
    return this.#first(kinds, node, (fault) => calls.some((call) => matchesCall(fault, call)));
  }

  /** Returns the oldest active submission fault that matches a transaction; null if there is no such fault. Adds one to the fault's hits. */
  firstForTransaction(node: Node, tx: WireTransaction): FaultRule | null {
    return this.#first(SUBMISSION_FAULTS, node, (fault) => matchesTransaction(fault, tx));
  }

  #first(kinds: readonly FaultKind[], node: Node, matches: (fault: FaultRule) => boolean): FaultRule | null {
    for (const rule of this.#rules) {
      const { fault } = rule;
      if (!kinds.includes(fault.kind) || (fault.node !== undefined && fault.node !== node.name)) continue;
      if (fault.times !== undefined && rule.hits >= fault.times) continue;
      if (!matches(fault) || (fault.probability !== undefined && rule.random() >= fault.probability)) continue;
      rule.hits++;
      return fault;
    }
    return null;
  }
}

/**
 * Delivers a transaction that a node received. While the nodes have separate chains, the transaction is delivered to each chain that is not stopped, and
 * a fault that is limited to a node affects only the chain of this node.
 */
export function deliver(receiver: Node, nodes: readonly Node[], faults: Faults, tx: WireTransaction): void {
  const isSplit = nodes.some(({ chain }) => chain !== receiver.chain);
  const to = isSplit ? nodes.filter(({ stoppedAt }) => stoppedAt === null) : [receiver];
  for (const node of to) submitWithFaults(node, faults, tx);
}

/**
 * Executes a transaction in the current slot, or lets it wait for a block of a congested cluster. An active fault may drop the transaction, delay it, or replace the transaction's block by a fork later.
 */
function submitWithFaults(node: Node, faults: Faults, tx: WireTransaction): void {
  const { chain } = node;
  const fault = faults.firstForTransaction(node, tx);
  if (fault?.kind === 'drop') return;
  if (fault?.kind === 'late') {
    const slot = chain.tick();
    const last = chain.bank.lastValidHeight(tx.blockhash, slot);
    const due = fault.last === true && last !== null ? chain.clock.slotAtHeight(last) : slot + (fault.slots ?? 1);
    chain.schedule(due, (then) => void chain.land(tx, then));
    return;
  }
  chain.receive(tx);
  if (fault?.kind === 'fork') chain.schedule(chain.tick() + (fault.slots ?? 1), (then) => void chain.fork(tx.signature, then));
}

function matchesCall(fault: FaultRule, { method, params }: RpcCallView): boolean {
  const methods = fault.methods ?? (fault.kind === 'loseReply' ? ['sendTransaction'] : undefined);
  if (methods && !methods.includes(method)) return false;
  if (fault.mentions === undefined && fault.signature === undefined) return true;
  if (method !== 'sendTransaction') {
    const text = JSON.stringify(params);
    return [fault.mentions, fault.signature].every((part) => part === undefined || text.includes(part));
  }
  const tx = sentTransaction(params);
  return tx !== null && matchesTransaction(fault, tx);
}

function matchesTransaction(fault: FaultRule, tx: WireTransaction): boolean {
  if (fault.signature !== undefined && fault.signature !== tx.signature) return false;
  return fault.mentions === undefined || tx.keys.includes(keyFromBase58(fault.mentions) ?? '');
}

function sentTransaction(params: readonly unknown[]): WireTransaction | null {
  try {
    return parseTransaction(Buffer.from(String(params[0]), 'base64'));
  } catch {
    return null;
  }
}
