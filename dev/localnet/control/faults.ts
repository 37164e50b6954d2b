import { parseTransaction, type WireTransaction } from '../cluster/wire.ts';
import { keyFromBase58 } from '../keys.ts';
import type { Node } from '../node.ts';
import type { Fault } from './orders.ts';

interface Rule {
  readonly id: number;
  readonly fault: Fault;
  readonly random: () => number;
  hits: number;
}

/** A call as the rules see it. */
interface Seen {
  readonly method: string;
  readonly params: readonly unknown[];
}

type Kind = Fault['kind'];

/** Decided when a transaction is taken in. */
const ON_LANDING: readonly Kind[] = ['drop', 'late', 'fork'];

/** The faults that are switched on. */
export class Faults {
  #rules: Rule[] = [];
  #lastId = 0;

  add(fault: Fault): number {
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

  /** The first fault of one of these kinds that strikes a request. */
  strike(kinds: readonly Kind[], node: Node, calls: readonly Seen[]): Fault | null {
    return this.#first(kinds, node, (fault) => calls.some((call) => concerns(fault, call)));
  }

  /** What becomes of a transaction. */
  landing(node: Node, tx: WireTransaction): Fault | null {
    return this.#first(ON_LANDING, node, (fault) => isAbout(fault, tx));
  }

  #first(kinds: readonly Kind[], node: Node, matches: (fault: Fault) => boolean): Fault | null {
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

/** Takes a transaction in as the faults have it. */
export function land(node: Node, faults: Faults, tx: WireTransaction): void {
  const { chain } = node;
  const fault = faults.landing(node, tx);
  if (fault?.kind === 'drop') return;
  if (fault?.kind === 'late') {
    const slot = chain.tick();
    const last = chain.bank.lastValidHeight(tx.blockhash, slot);
    const due = fault.last === true && last !== null ? chain.clock.slotAtHeight(last) : slot + (fault.slots ?? 1);
    chain.at(due, (then) => void chain.land(tx, then));
    return;
  }
  if (chain.land(tx) !== null || fault?.kind !== 'fork') return;
  chain.at(chain.tick() + (fault.slots ?? 1), (then) => void chain.fork(tx.signature, then));
}

function concerns(fault: Fault, { method, params }: Seen): boolean {
  const methods = fault.methods ?? (fault.kind === 'loseReply' ? ['sendTransaction'] : undefined);
  if (methods && !methods.includes(method)) return false;
  if (fault.mentions === undefined && fault.signature === undefined) return true;
  if (method !== 'sendTransaction') {
    const text = JSON.stringify(params);
    return [fault.mentions, fault.signature].every((part) => part === undefined || text.includes(part));
  }
  const tx = sentTransaction(params);
  return tx !== null && isAbout(fault, tx);
}

function isAbout(fault: Fault, tx: WireTransaction): boolean {
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

/** Mulberry32: small, and the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
