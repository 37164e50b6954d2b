import type { BatchMember, PaymentCause } from '../batches/members.ts';
import type { ChainState } from './read-chain-state.ts';

/** A pending payment that may become a member of the next batch of a lane. */
export interface Candidate {
  readonly id: string;
  readonly wallet: string;
  readonly amount: bigint;
  readonly giveUps: number;
  readonly cause: PaymentCause;
}

/** The maximum amounts that all members of a batch may spend together. */
export interface Limits {
  /** Balance of the treasury minus the payments in flight, base units. */
  readonly funds: bigint;
  /** Part of the daily limit of the token that is not spent yet, base units. */
  readonly dailyLimit: bigint;
  /** Part of the daily budget for opening token accounts that is not spent yet, lamports. */
  readonly rentBudget: bigint;
}

/** The reason why payments are delayed, and the time until they are planned again. */
export interface Delay {
  readonly reason: string;
  readonly ms: number;
  /** Whether operators are alerted about the delay. */
  readonly alert: boolean;
}

const SHORT: Delay = { reason: 'waits until the treasury holds enough', ms: 3_000, alert: true };
const LIMIT: Delay = { reason: 'waits for the next day: the daily limit is reached', ms: 15_000, alert: true };
const BUDGET: Delay = { reason: 'waits for the next day: the daily budget for token accounts is spent', ms: 15_000, alert: true };
const REOPEN: Delay = {
  reason: 'waits until the wallet opens its token account: we opened the account once, and the wallet closed it',
  ms: 30_000,
  alert: false,
};

const OPENING: Delay = { reason: 'waits until another transaction has opened the token account of the wallet', ms: 1_000, alert: false };

/** The decision about each candidate: the candidate becomes a member of the batch, cannot be paid, or is delayed. */
export interface BatchChoice {
  readonly members: readonly BatchMember[];
  readonly unpayable: readonly { readonly id: string; readonly reason: string }[];
  readonly delayed: ReadonlyMap<Delay, readonly string[]>;
}

/**
 * Chooses the members of the next batch from the candidates, in the given order. If a payment exceeds a limit, only this payment is delayed. The
 * batch opens a wallet's token account only if the service has never opened it before.
 * @param opened one entry per wallet whose token account the service has opened; the value is false while the batch that opens the account is in
 * flight
 */
export function chooseMembers(
  candidates: readonly Candidate[],
  chain: ChainState,
  limits: Limits,
  opened: ReadonlyMap<string, boolean>,
): BatchChoice {
  const members: BatchMember[] = [];
  const unpayable: { id: string; reason: string }[] = [];
  const delayed = new Map<Delay, string[]>();
  const opening = new Set<string>();
  let { funds, dailyLimit, rentBudget } = limits;
  const delayOf = (candidate: Candidate, opens: boolean): Delay | null => {
    const before = opens ? opened.get(candidate.wallet) : undefined;
    if (before !== undefined) return before ? REOPEN : OPENING;
    if (candidate.amount > funds) return SHORT;
    if (candidate.amount > dailyLimit) return LIMIT;
    return opens && chain.rent > rentBudget ? BUDGET : null;
  };
  for (const candidate of candidates) {
    const { id, wallet, amount, cause } = candidate;
    const destination = chain.destinations.get(wallet) ?? 'missing';
    if (typeof destination === 'object') {
      unpayable.push({ id, reason: destination.unpayable });
      continue;
    }
    const opens = destination === 'missing' && !opening.has(wallet);
    const delay = delayOf(candidate, opens);
    if (delay) {
      delayed.set(delay, [...(delayed.get(delay) ?? []), id]);
      continue;
    }
    funds -= amount;
    dailyLimit -= amount;
    if (opens) {
      rentBudget -= chain.rent;
      opening.add(wallet);
    }
    members.push({ payment: id, wallet, amount, opens, cause });
  }
  return { members, unpayable, delayed };
}
