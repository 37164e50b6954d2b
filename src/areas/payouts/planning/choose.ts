import type { Member } from '../batches/members.ts';
import type { Survey } from './read-chain-state.ts';

/** A payment that might go into the next batch. */
export interface Candidate {
  readonly id: string;
  readonly wallet: string;
  readonly amount: bigint;
  readonly giveUps: number;
}

/** What bounds a batch besides the size of a transaction: base units, and lamports. */
export interface Means {
  /** What the treasury holds, without what is on its way. */
  readonly funds: bigint;
  /** What of the token may still leave today. */
  readonly limit: bigint;
  /** What may still be spent on token accounts today. */
  readonly budget: bigint;
}

/** Why payments wait, what they wait for, and for how long. */
export interface Delay {
  readonly reason: string;
  readonly ms: number;
  /** Whether people have to do something about it. */
  readonly alert: boolean;
}

const SHORT: Delay = { reason: 'waits until the treasury holds enough', ms: 3_000, alert: true };
const LIMIT: Delay = { reason: 'waits for the next day: the daily limit is reached', ms: 15_000, alert: true };
const BUDGET: Delay = { reason: 'waits for the next day: the budget for token accounts is spent', ms: 15_000, alert: true };
const REOPEN: Delay = { reason: 'waits until the wallet opens its token account: we opened it once, and it was closed', ms: 30_000, alert: false };

const OPENING: Delay = { reason: 'waits for its token account, which is being opened', ms: 1_000, alert: false };

/** What becomes of the candidates. Who is in none of the lists stays as it is. */
export interface Choice {
  readonly members: readonly Member[];
  readonly unfit: readonly { readonly id: string; readonly reason: string }[];
  readonly delayed: ReadonlyMap<Delay, readonly string[]>;
}

/**
 * Chooses who is paid next, in the order given. What does not fit into the means waits, and keeps nobody else waiting; a
 * wallet's token account is opened once for all its payments, and never again where it had been opened before.
 * @param opened wallets whose account we opened at an earlier time; false: another batch on its way opens it
 */
export function choose(candidates: readonly Candidate[], chain: Survey, means: Means, opened: ReadonlyMap<string, boolean>): Choice {
  const members: Member[] = [];
  const unfit: { id: string; reason: string }[] = [];
  const delayed = new Map<Delay, string[]>();
  const opening = new Set<string>();
  let { funds, limit, budget } = means;
  const delayOf = (candidate: Candidate, opens: boolean): Delay | null => {
    const before = opens ? opened.get(candidate.wallet) : undefined;
    if (before !== undefined) return before ? REOPEN : OPENING;
    if (candidate.amount > funds) return SHORT;
    if (candidate.amount > limit) return LIMIT;
    return opens && chain.rent > budget ? BUDGET : null;
  };
  for (const candidate of candidates) {
    const { id, wallet, amount } = candidate;
    const destination = chain.destinations.get(wallet) ?? 'missing';
    if (typeof destination === 'object') {
      unfit.push({ id, reason: destination.unfit });
      continue;
    }
    const opens = destination === 'missing' && !opening.has(wallet);
    const delay = delayOf(candidate, opens);
    if (delay) {
      delayed.set(delay, [...(delayed.get(delay) ?? []), id]);
      continue;
    }
    funds -= amount;
    limit -= amount;
    if (opens) {
      budget -= chain.rent;
      opening.add(wallet);
    }
    members.push({ payment: id, wallet, amount, opens });
  }
  return { members, unfit, delayed };
}
