import { PublicKey } from '@solana/web3.js';
import { planPayouts } from '#jobs/payouts.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { rpc } from '#platform/solana/solana.ts';
import type { Draft, Outcome, TransactionType } from '#platform/solana/submission/transactions.ts';
import { memo } from '#platform/solana/tokens.ts';
import { decodeNonce } from './account.ts';
import { markStale, selectLane } from './rows.ts';

const WAIT_MS = 1_000;

/** Using a nonce up has to win against what could not: it offers as much as a transaction that was given up three times. */
const URGENCY = 3;

/** What advancing a lane's nonce is submitted as: `<lane>:<nonce>`. */
export const advanceSubject = (lane: number, nonce: string): string => `${lane}:${nonce}`;

const laneOf = (subject: string): number => Number(subject.slice(0, subject.indexOf(':')));

async function compose(app: App, subject: string): Promise<Draft | Outcome> {
  const number = laneOf(subject);
  const value = subject.slice(subject.indexOf(':') + 1);
  const lane = (await app.db.query(selectLane, [number]))[0];
  if (!lane) return { do: 'manual', reason: 'there is no such lane' };
  const account = new PublicKey(lane.address);
  const info = await rpc(() => app.chain.connection.getAccountInfoAndContext(account, 'finalized'));
  if (decodeNonce(info.value)?.value !== value) {
    return { do: 'fail', error: { name: 'NonceUsed', message: 'the nonce was used meanwhile', instruction: null, code: null } };
  }
  return {
    do: 'sign',
    instructions: [memo(`coinop:advance:${number}`)],
    feePayer: 'feePayer',
    nonce: { account, value },
    urgency: URGENCY,
  };
}

async function touch(tx: Tx, subjects: readonly string[]): Promise<void> {
  await tx.query(markStale, [subjects.map(laneOf)]);
  tx.enqueue(planPayouts, {});
}

/** Uses a nonce up and does nothing else, so that a batch which does not land never will. Payouts that stand still do not keep it from that. */
export const advanceNonce: TransactionType = {
  name: 'advance-nonce',
  scope: 'payout-lanes',
  afterFailure: 'over',
  compose,
  refused: async (_app, _subject, error) => ({ do: 'wait', ms: WAIT_MS, reason: error.message }),
  finalized: (tx, landings) =>
    touch(
      tx,
      landings.map(({ subject }) => subject),
    ),
  failed: (tx, failures) =>
    touch(
      tx,
      failures.map(({ subject }) => subject),
    ),
};
