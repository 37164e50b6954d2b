import type { SignatureStatus } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '../solana.ts';
import { chainError } from './errors.ts';
import { expireAttempts } from './expire.ts';
import { type PendingAttempt, selectPending } from './rows.ts';
import { send } from './send.ts';
import type { ChainError, TransactionType } from './transaction-type.ts';
import { move, type Verdict } from './transition.ts';

/** Attempts that one round looks at, and signatures in one question: the most that nodes take. */
const MOST_PENDING = 4_096;
const STATUSES_AT_ONCE = 256;
/** Nodes answer from memory for this many slots; what is older has to be searched for. */
const RECENT_SLOTS = 140;

interface Seen {
  readonly attempt: PendingAttempt;
  readonly status: SignatureStatus | null;
  /** The slot at which the node answered. */
  readonly at: number;
}

/**
 * Looks at every pending attempt once: what is final closes its books, what has vanished goes back, what is missing is
 * sent again, and what is overdue is looked into. Harmless in any number of processes at once.
 * @returns how many are still pending
 */
export async function pollPending(app: App, kinds: ReadonlyMap<string, TransactionType>): Promise<number> {
  const pending = await app.db.query(selectPending, [MOST_PENDING]);
  if (pending.length === 0) return 0;
  const seen = await readStatuses(app, pending);
  const verdicts = seen.flatMap((one) => verdictOn(one) ?? []);
  const moved = await move(app, kinds, verdicts);
  const missing = seen.filter(({ status }) => status === null);
  await sendAgain(app, missing);
  const dead = await expireAttempts(
    app,
    kinds,
    missing.map(({ attempt }) => attempt),
  );
  return pending.length - moved.filter(({ to }) => to === 'finalized' || to === 'failed').length - dead;
}

async function readStatuses(app: App, pending: readonly PendingAttempt[]): Promise<Seen[]> {
  const chunks = Array.from({ length: Math.ceil(pending.length / STATUSES_AT_ONCE) }, (_, i) =>
    pending.slice(i * STATUSES_AT_ONCE, (i + 1) * STATUSES_AT_ONCE),
  );
  const seen = (await Promise.all(chunks.map((chunk) => ask(app, chunk, false)))).flat();
  // A node may have forgotten what it would find by searching.
  const old = seen.filter(({ status, attempt, at }) => status === null && at - (attempt.slot ?? attempt.signed_slot) > RECENT_SLOTS);
  if (old.length === 0) return seen;
  const again = await ask(
    app,
    old.slice(0, STATUSES_AT_ONCE).map(({ attempt }) => attempt),
    true,
  );
  const bySignature = new Map(again.map((one) => [one.attempt.signature, one]));
  return seen.map((one) => bySignature.get(one.attempt.signature) ?? one);
}

async function ask(app: App, attempts: readonly PendingAttempt[], searchTransactionHistory: boolean): Promise<Seen[]> {
  const signatures = attempts.map((attempt) => attempt.signature);
  const { context, value } = await rpc(() => app.chain.connection.getSignatureStatuses(signatures, { searchTransactionHistory }));
  return attempts.map((attempt, i) => ({ attempt, status: value[i] ?? null, at: context.slot }));
}

/** What a status says about an attempt; undefined: nothing new. */
function verdictOn({ attempt, status, at }: Seen): Verdict | undefined {
  if (status === null) {
    // Only a node that is as far as the one that confirmed it can tell that it vanished.
    return attempt.state === 'confirmed' && attempt.slot !== null && at > attempt.slot ? { attempt, to: 'sent', slot: null, error: null } : undefined;
  }
  const error: ChainError | null = status.err ? chainError(status.err, attempt.preamble) : null;
  if (status.confirmationStatus === 'finalized') return { attempt, to: error ? 'failed' : 'finalized', slot: status.slot, error };
  if (status.confirmationStatus !== 'confirmed' || error || attempt.state === 'confirmed') return undefined;
  return { attempt, to: 'confirmed', slot: status.slot, error: null };
}

/** What nobody has seen is sent again every few slots, for as long as a block may take it. */
async function sendAgain(app: App, missing: readonly Seen[]): Promise<void> {
  const { resendSlots } = app.config.chain.landing;
  const at = missing.reduce((newest, one) => Math.max(newest, one.at), 0);
  const due = missing.filter(({ attempt }) => attempt.state !== 'confirmed' && (attempt.sent_slot === null || attempt.sent_slot + resendSlots <= at));
  await send(
    app,
    due.map(({ attempt }) => attempt.signature),
    at,
  );
}
