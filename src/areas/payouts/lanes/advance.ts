import { planPayouts } from '#jobs/payouts.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { ComposeOutcome, TransactionDraft, TransactionType } from '#platform/solana/submission/index.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { memo } from '#platform/solana/tokens.ts';
import { readNonceUser } from './nonce-user.ts';
import { markStale, selectLane } from './rows.ts';

const WAIT_MS = 1_000;

/**
 * Urgency of a transaction that advances a nonce; each unit doubles the priority fee. The high fee lets the transaction land before the overdue batch
 * that uses the same nonce.
 */
const URGENCY = 3;

/** Returns the subject, which identifies a transaction that advances a nonce: `<lane>:<nonce>`. */
export const advanceSubject = (lane: number, nonce: string): string => `${lane}:${nonce}`;

const laneOf = (subject: string): number => Number(subject.slice(0, subject.indexOf(':')));

async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  const number = laneOf(subject);
  const value = subject.slice(subject.indexOf(':') + 1);
  const [lane] = await run(app.db, selectLane(number));
  if (!lane) return { do: 'manual', reason: 'the lane does not exist' };
  const account = parseAddress(lane.address);
  const fetched = await app.chain.node.account(account, 'finalized');
  if (decodeNonce(fetched.account)?.value !== value) {
    return {
      do: 'fail',
      error: { name: 'NonceUsed', message: 'another transaction has used the nonce of the lane already', instruction: null, code: null },
    };
  }
  return {
    do: 'sign',
    instructions: [memo(`coinop:advance:${number}`)],
    feePayer: 'feePayer',
    nonce: { account, value },
    urgency: URGENCY,
  };
}

async function markLanesStale(tx: Tx, subjects: readonly string[]): Promise<void> {
  await run(tx, markStale(subjects.map(laneOf)));
  tx.enqueue(planPayouts, {});
}

/**
 * The transaction type that advances the nonce of a lane and does nothing else. When this transaction lands, an older batch with the same nonce can
 * never land. The type has its own pause scope, so the transaction is signed even while payouts are paused.
 */
export const advanceNonce: TransactionType = {
  name: 'advance-nonce',
  scope: 'payout-lanes',
  priority: 'payouts',
  afterFailure: 'over',
  compose,
  nonceUser: readNonceUser,
  simulationFailed: async (_app, _subject, error) => ({ do: 'wait', ms: WAIT_MS, reason: error.message }),
  finalized: (tx, landings) =>
    markLanesStale(
      tx,
      landings.map(({ subject }) => subject),
    ),
  failed: (tx, failures) =>
    markLanesStale(
      tx,
      failures.map(({ subject }) => subject),
    ),
};
