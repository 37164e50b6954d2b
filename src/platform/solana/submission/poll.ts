import { type App, perApp } from '#platform/app.ts';
import type { TransactionStatus } from '../rpc-node.ts';
import { findDenied, keepAgreed } from './agreement.ts';
import { chainError } from './errors.ts';
import { expireAttempts, isCheckDue } from './expire.ts';
import { addSigning } from './jobs.ts';
import { PRIORITIES, type Priority } from './priorities.ts';
import { type PendingAttempt, postponePolls, selectPending } from './rows.ts';
import { send } from './send.ts';
import { hasSeveralLive } from './siblings.ts';
import type { ChainError, TransactionType } from './transaction-type.ts';
import { applyTransitions, type Transition } from './transition.ts';

/** Maximum attempts per poll. */
const MAX_PENDING = 4_096;
/** Maximum number of signatures per status request. RPC nodes set this limit. */
const MAX_SIGNATURES = 256;
/** Number of recent slots whose statuses an RPC node keeps in memory. Older statuses need `searchHistory`. */
const RECENT_SLOTS = 140;

/** Number of slots after the slot of a transaction before which the transaction cannot be finalized (`MAX_LOCKOUT_HISTORY` of Agave). */
const FINALITY_SLOTS = 31;
/**
 * While other attempts are pending, every eighth poll also reads the confirmed attempts that cannot be finalized yet. With a poll
 * every 400 ms, the service notices within 3.2 s that a fork has dropped such an attempt.
 */
const POLLS_PER_FORK_CHECK = 8;

/** Maximum time between two polls of an attempt, ms. */
const MAX_POLL_DELAY_MS = 30_000;

interface AttemptStatus {
  readonly attempt: PendingAttempt;
  readonly status: TransactionStatus | null;
  /** The slot that the RPC node had reached when it responded. */
  readonly at: number;
}

/**
 * Polls the pending attempts once. Settles finalized attempts, retracts confirmed attempts that a fork rolled back, sends attempts without a status
 * again, and checks old attempts for expiry. Several processes may run this at the same time.
 * @param priorities the classes whose attempts are polled, one class after the other
 * @returns the number of attempts that were read and are still pending; 0 only if no attempt is pending
 */
export async function pollPending(
  app: App,
  types: ReadonlyMap<string, TransactionType>,
  priorities: readonly Priority[] = PRIORITIES,
): Promise<number> {
  let pending = 0;
  for (const priority of priorities) pending += await pollClass(app, types, priority);
  return pending;
}

/** The number of polls of each class by this process, and the slot that the chain had reached in the last poll. */
const progress = perApp(() => new Map<Priority, { polls: number; slot: number }>());

async function pollClass(app: App, types: ReadonlyMap<string, TransactionType>, priority: Priority): Promise<number> {
  const pending = await readPending(app, priority);
  if (pending.length === 0) return 0;
  const statuses = await readStatuses(app, pending);
  const { polls, slot } = progressOf(app, priority);
  app.state(progress).set(priority, { polls: polls + 1, slot: statuses.reduce((newest, { at }) => Math.max(newest, at), slot) });
  const transitions = statuses.flatMap((one) => transitionFor(one) ?? []);
  const applied = await applyTransitions(app, types, await keepAgreed(app, transitions));
  const missing = statuses.filter(({ status }) => status === null);
  await sendAgain(app, missing);
  await findDenied(
    app,
    missing.filter(({ attempt }) => isCheckDue(app, attempt)),
  );
  const expired = await expireAttempts(
    app,
    types,
    missing.map(({ attempt }) => attempt),
  );
  const moved = new Set(applied.map(({ attempt }) => attempt.signature));
  const left = statuses.filter(({ attempt }) => !moved.has(attempt.signature));
  await raise(app, types, left);
  await slowDown(app, left, pending.length === MAX_PENDING);
  return pending.length - applied.filter(({ to }) => to === 'finalized' || to === 'failed').length - expired;
}

const progressOf = (app: App, priority: Priority) => app.state(progress).get(priority) ?? { polls: 0, slot: 0 };

/**
 * Reads the attempts of a class to poll. Most polls leave out the confirmed attempts that cannot be finalized yet, which are four of five attempts under load.
 * If no other attempt is pending, reads them in each poll.
 */
async function readPending(app: App, priority: Priority): Promise<PendingAttempt[]> {
  const { polls, slot } = progressOf(app, priority);
  if (polls % POLLS_PER_FORK_CHECK > 0) {
    const urgent = await app.db.query(selectPending, [MAX_PENDING, priority, slot - FINALITY_SLOTS]);
    if (urgent.length > 0) return urgent;
  }
  return await app.db.query(selectPending, [MAX_PENDING, priority, null]);
}

/**
 * Postpones the next poll of attempts that have had no status for long, in proportion to their age, so that thousands of attempts whose outcome stays
 * unknown take few requests. When there are more attempts than one poll reads, those that it has read come last in the next poll. Attempts with a
 * nonce are not postponed: there are at most two per lane.
 */
async function slowDown(app: App, left: readonly AttemptStatus[], isFull: boolean): Promise<void> {
  const slowAfterMs = app.config.chain.submission.recheckMs * 2;
  const delayOf = ({ attempt, status }: AttemptStatus): number =>
    status === null && attempt.nonce === null && attempt.age >= slowAfterMs ? Math.min(MAX_POLL_DELAY_MS, attempt.age / 20) : 0;
  const slow = left.map((one) => ({ attempt: one.attempt, ms: delayOf(one) })).filter(({ ms }) => isFull || ms > 0);
  if (slow.length === 0) return;
  const values = [slow.map(({ attempt }) => attempt.id), slow.map(({ attempt }) => attempt.n), slow.map(({ ms }) => ms)];
  await app.tx((tx) => tx.query(postponePolls, values));
}

async function readStatuses(app: App, pending: readonly PendingAttempt[]): Promise<AttemptStatus[]> {
  const chunks = Array.from({ length: Math.ceil(pending.length / MAX_SIGNATURES) }, (_, i) =>
    pending.slice(i * MAX_SIGNATURES, (i + 1) * MAX_SIGNATURES),
  );
  const statuses = (await Promise.all(chunks.map((chunk) => requestStatuses(app, chunk, false)))).flat();
  // The RPC node keeps only recent statuses in memory, so the statuses of older attempts are also searched in its history.
  const old = statuses.filter(({ status, attempt, at }) => status === null && at - (attempt.slot ?? attempt.signed_slot) > RECENT_SLOTS);
  if (old.length === 0) return statuses;
  const attempts = old.map(({ attempt }) => attempt);
  const bySignature = new Map<string, AttemptStatus>();
  for (let i = 0; i < attempts.length; i += MAX_SIGNATURES) {
    for (const one of await requestStatuses(app, attempts.slice(i, i + MAX_SIGNATURES), true)) bySignature.set(one.attempt.signature, one);
  }
  return statuses.map((one) => bySignature.get(one.attempt.signature) ?? one);
}

async function requestStatuses(app: App, attempts: readonly PendingAttempt[], searchHistory: boolean): Promise<AttemptStatus[]> {
  const signatures = attempts.map((attempt) => attempt.signature);
  const { slot, statuses } = await app.chain.node.statuses(signatures, { searchHistory });
  return attempts.map((attempt, i) => ({ attempt, status: statuses[i] ?? null, at: slot }));
}

/** Returns the state change of an attempt that follows from its status; undefined when the state does not change. */
function transitionFor({ attempt, status, at }: AttemptStatus): Transition | undefined {
  if (status === null) {
    // An RPC node that has not reached the slot of the transaction cannot know the transaction's status, so a missing status from this node is
    // ignored.
    return attempt.state === 'confirmed' && attempt.slot !== null && at > attempt.slot ? { attempt, to: 'sent', slot: null, error: null } : undefined;
  }
  const error: ChainError | null = status.err ? chainError(status.err, attempt.preamble) : null;
  if (status.confirmationStatus === 'finalized') return { attempt, to: error ? 'failed' : 'finalized', slot: status.slot, error };
  if (status.confirmationStatus !== 'confirmed' || error || attempt.state === 'confirmed') return undefined;
  return { attempt, to: 'confirmed', slot: status.slot, error: null };
}

/**
 * Enqueues the signing of a further attempt, with a higher fee, for transactions whose newest attempt has no status `raiseSlots` slots after it was
 * signed. Leaves out those that have their maximum number of live attempts, which are many while the chain is congested. Signing checks again that the
 * transaction may have a further attempt, so a lost or a repeated job does no harm.
 */
async function raise(app: App, types: ReadonlyMap<string, TransactionType>, left: readonly AttemptStatus[]): Promise<void> {
  const { raiseSlots } = app.config.chain.submission;
  const live = new Map<string, number>();
  for (const { attempt } of left) live.set(attempt.id, (live.get(attempt.id) ?? 0) + 1);
  const late = left.filter(({ attempt: { id, newest, type, signed_slot }, status, at }) => {
    const declared = types.get(type);
    const mayHaveMore = declared !== undefined && hasSeveralLive(declared) && (live.get(id) ?? 0) < (declared.maxLive ?? 1);
    return newest && status === null && at - signed_slot >= raiseSlots && mayHaveMore;
  });
  if (late.length > 0)
    await addSigning(
      app.queues,
      late.map(({ attempt }) => attempt),
    );
}

/**
 * Resends the attempts whose status the RPC node does not know, each at most once per `resendSlots` slots. When another attempt of the transaction has
 * landed, an attempt is not sent again, because it could only fail and cost its fee.
 */
async function sendAgain(app: App, missing: readonly AttemptStatus[]): Promise<void> {
  const { resendSlots } = app.config.chain.submission;
  const at = missing.reduce((newest, one) => Math.max(newest, one.at), 0);
  const due = missing.filter(
    ({ attempt }) => attempt.state !== 'confirmed' && !attempt.landed && (attempt.sent_slot === null || attempt.sent_slot + resendSlots <= at),
  );
  await send(
    app,
    due.map(({ attempt }) => attempt.signature),
    at,
  );
}
