import type { App } from '#platform/app.ts';
import type { TransactionStatus } from '../rpc-node.ts';
import { chainError } from './errors.ts';
import { expireAttempts } from './expire.ts';
import { type PendingAttempt, selectPending } from './rows.ts';
import { send } from './send.ts';
import type { ChainError, TransactionType } from './transaction-type.ts';
import { applyTransitions, type Transition } from './transition.ts';

/** Maximum attempts per poll. */
const MAX_PENDING = 4_096;
/** Maximum number of signatures per status request. RPC nodes set this limit. */
const MAX_SIGNATURES = 256;
/** Number of recent slots whose statuses an RPC node keeps in memory. Older statuses need `searchHistory`. */
const RECENT_SLOTS = 140;

interface AttemptStatus {
  readonly attempt: PendingAttempt;
  readonly status: TransactionStatus | null;
  /** The slot that the RPC node had reached when it responded. */
  readonly at: number;
}

/**
 * Polls every pending attempt once. Settles finalized attempts, retracts confirmed attempts that a fork rolled back, sends attempts without a status
 * again, and checks old attempts for expiry. Several processes may run this at the same time.
 * @returns the number of attempts that are still pending
 */
export async function pollPending(app: App, types: ReadonlyMap<string, TransactionType>): Promise<number> {
  const pending = await app.db.query(selectPending, [MAX_PENDING]);
  if (pending.length === 0) return 0;
  const statuses = await readStatuses(app, pending);
  const transitions = statuses.flatMap((one) => transitionFor(one) ?? []);
  const applied = await applyTransitions(app, types, transitions);
  const missing = statuses.filter(({ status }) => status === null);
  await sendAgain(app, missing);
  const expired = await expireAttempts(
    app,
    types,
    missing.map(({ attempt }) => attempt),
  );
  return pending.length - applied.filter(({ to }) => to === 'finalized' || to === 'failed').length - expired;
}

async function readStatuses(app: App, pending: readonly PendingAttempt[]): Promise<AttemptStatus[]> {
  const chunks = Array.from({ length: Math.ceil(pending.length / MAX_SIGNATURES) }, (_, i) =>
    pending.slice(i * MAX_SIGNATURES, (i + 1) * MAX_SIGNATURES),
  );
  const statuses = (await Promise.all(chunks.map((chunk) => requestStatuses(app, chunk, false)))).flat();
  // The RPC node keeps only recent statuses in memory, so the statuses of older attempts are also searched in its history.
  const old = statuses.filter(({ status, attempt, at }) => status === null && at - (attempt.slot ?? attempt.signed_slot) > RECENT_SLOTS);
  if (old.length === 0) return statuses;
  const again = await requestStatuses(
    app,
    old.slice(0, MAX_SIGNATURES).map(({ attempt }) => attempt),
    true,
  );
  const bySignature = new Map(again.map((one) => [one.attempt.signature, one]));
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

/** Resends the attempts whose status the RPC node does not know, each at most once per `resendSlots` slots. */
async function sendAgain(app: App, missing: readonly AttemptStatus[]): Promise<void> {
  const { resendSlots } = app.config.chain.submission;
  const at = missing.reduce((newest, one) => Math.max(newest, one.at), 0);
  const due = missing.filter(({ attempt }) => attempt.state !== 'confirmed' && (attempt.sent_slot === null || attempt.sent_slot + resendSlots <= at));
  await send(
    app,
    due.map(({ attempt }) => attempt.signature),
    at,
  );
}
