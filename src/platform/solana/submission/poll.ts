import type { SignatureStatus } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '../solana.ts';
import { chainError } from './errors.ts';
import { expireAttempts } from './expire.ts';
import { type PendingAttempt, selectPending } from './rows.ts';
import { send } from './send.ts';
import type { ChainError, TransactionType } from './transaction-type.ts';
import { applyTransitions, type Transition } from './transition.ts';

/** Maximum attempts per poll. */
const MAX_PENDING = 4_096;
/** Maximum signatures per request; a limit of RPC nodes. */
const MAX_SIGNATURES = 256;
/** RPC nodes keep the statuses of this many slots in memory; older statuses need `searchTransactionHistory`. */
const RECENT_SLOTS = 140;

interface AttemptStatus {
  readonly attempt: PendingAttempt;
  readonly status: SignatureStatus | null;
  /** The node's slot at the time of the response. */
  readonly at: number;
}

/**
 * Polls every pending attempt once: settles finalized attempts, retracts confirmed attempts that a fork rolled back, sends
 * missing attempts again and checks old attempts for expiry. Safe to run in several processes at once.
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
  // An old status may be missing only from the node's memory, so the node's history is searched too.
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

async function requestStatuses(app: App, attempts: readonly PendingAttempt[], searchTransactionHistory: boolean): Promise<AttemptStatus[]> {
  const signatures = attempts.map((attempt) => attempt.signature);
  const { context, value } = await rpc(() => app.chain.connection.getSignatureStatuses(signatures, { searchTransactionHistory }));
  return attempts.map((attempt, i) => ({ attempt, status: value[i] ?? null, at: context.slot }));
}

/** Returns the transition that a status causes; undefined when the state does not change. */
function transitionFor({ attempt, status, at }: AttemptStatus): Transition | undefined {
  if (status === null) {
    // A node that lags behind the confirming slot cannot know the transaction, so its missing status is ignored.
    return attempt.state === 'confirmed' && attempt.slot !== null && at > attempt.slot ? { attempt, to: 'sent', slot: null, error: null } : undefined;
  }
  const error: ChainError | null = status.err ? chainError(status.err, attempt.preamble) : null;
  if (status.confirmationStatus === 'finalized') return { attempt, to: error ? 'failed' : 'finalized', slot: status.slot, error };
  if (status.confirmationStatus !== 'confirmed' || error || attempt.state === 'confirmed') return undefined;
  return { attempt, to: 'confirmed', slot: status.slot, error: null };
}

/** Sends attempts without a status again, at most once per `resendSlots`. */
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
