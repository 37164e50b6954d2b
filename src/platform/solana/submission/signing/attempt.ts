import type { App } from '#platform/app.ts';
import { observeAttempts } from '#platform/observability/metrics/metrics.ts';
import { advanceNonceInstruction } from '../../system-program.ts';
import { buildTransaction, computeBudget, signWithRoles } from '../../transactions.ts';
import { chainError } from '../errors.ts';
import { SOL, sumByAsset } from '../outflows.ts';
import type { TransactionRow } from '../rows.ts';
import { sendNew } from '../send.ts';
import type { LiveAttempt } from '../siblings.ts';
import type { ChainError, TransactionDraft, TransactionType } from '../transaction-type.ts';
import { commitAttempt } from './commit.ts';
import { feeOf, MAX_UNITS, priorityPrice, type RecentBlockhash, recentBlockhash, rememberPrice, unitsFor } from './fees.ts';

/**
 * The result of signing an attempt. `raced`: another worker has changed the transaction, or its live attempts. `not-higher`: a further attempt would not
 * have a higher price than the live ones.
 */
export type AttemptResult = { readonly is: 'sent' } | { readonly is: 'raced' } | { readonly is: 'not-higher' } | RefusedSimulation;

export interface RefusedSimulation {
  readonly is: 'refused';
  readonly error: ChainError;
}

/**
 * Simulates, signs, commits and sends one attempt.
 * @param live the live attempts of the transaction; empty for a queued transaction
 */
export async function signAttempt(
  app: App,
  type: TransactionType,
  row: TransactionRow,
  draft: TransactionDraft,
  live: readonly LiveAttempt[] = [],
): Promise<AttemptResult> {
  const recent: RecentBlockhash = await recentBlockhash(app);
  const keys = [draft.feePayer, ...(draft.signers ?? [])].map((role) => app.chain.key(role));
  const signers = [...new Map(keys.map((key) => [key.publicKey.toBase58(), key])).values()];
  const payer = signers[0];
  if (!payer) throw new Error('the draft has no fee payer');
  const advance = draft.nonce ? [advanceNonceInstruction(draft.nonce.account, payer.publicKey)] : [];
  // Solana accepts a nonce advance only as the first instruction of a transaction.
  const build = (units: number, price: number) =>
    buildTransaction(payer.publicKey, [...advance, ...computeBudget(units, price), ...draft.instructions], draft.nonce?.value ?? recent.blockhash);

  // A transaction with a nonce has no further attempts while it is live, so it begins one step higher.
  const steps = row.attempts + (draft.urgency ?? 0) + (draft.nonce ? 1 : 0);
  const price = await priorityPrice(app, build(MAX_UNITS, 0).writable, steps);
  if (live.some((other) => (other.price ?? 0) >= price)) return { is: 'not-higher' };

  const before = advance.length + computeBudget(MAX_UNITS, price).length;
  const simulated = await app.chain.node.simulate(build(MAX_UNITS, price), !draft.nonce);
  if (simulated.err) {
    const error = chainError(simulated.err, before);
    const logs = simulated.logs?.slice(-6);
    app.log.warn(
      { type: type.name, subject: row.subject, error, logs },
      'the simulation of a transaction failed; it is retried or the transaction fails',
    );
    return { is: 'refused', error };
  }

  const units = unitsFor(simulated.unitsConsumed ?? MAX_UNITS);
  // Before the database transaction, because a signer may take seconds to answer.
  const { signature, bytes } = await signWithRoles(build(units, price), signers);
  const fee = feeOf(signers.length, units, price);
  const costs = sumByAsset([...(draft.spends ?? []), { asset: SOL, amount: fee }]);

  const committed = await commitAttempt(app, {
    ...{ type, row, draft, live, fee, costs },
    signed: {
      ...{ signature, price, preamble: before, bytes: bytes.toString('base64'), signed_slot: recent.slot },
      signers: signers.map((key) => key.publicKey.toBase58()),
      last_valid_height: draft.nonce ? null : recent.lastValidBlockHeight,
      nonce_account: draft.nonce?.account.toBase58() ?? null,
      nonce: draft.nonce?.value ?? null,
    },
  });
  if (!committed) return { is: 'raced' };
  rememberPrice(app, price);
  observeAttempts(type.name, 'signed', [0]);
  await sendNew(app, signature, recent.slot);
  return { is: 'sent' };
}
