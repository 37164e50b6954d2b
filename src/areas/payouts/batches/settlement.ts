import { planPayouts } from '#jobs/payouts.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ChainError, FailedTransaction, LandedTransaction } from '#platform/solana/submission/index.ts';
import { build } from '../build.ts';
import { payoutConfirmed } from '../events.ts';
import { moveToManual } from '../manual.ts';
import type { PaidPayment } from '../payments.ts';
import { memberOfInstruction } from './members.ts';
import { readBatch } from './rows.ts';

const confirm = statement(
  'confirm_payments',
  `update payments p set state = 'confirmed', signature = v.signature, changed_at = app_now()
   from unnest($1::uuid[], $2::text[]) as v(batch, signature) join payout_batch_members m on m.batch = v.batch and m.live
   where p.id = m.payment and p.state = 'batched'`,
);
const retract = statement(
  'retract_payments',
  `update payments p set state = 'batched', signature = null, changed_at = app_now()
   from payout_batch_members m where m.batch = any($1::uuid[]) and m.live and p.id = m.payment and p.state = 'confirmed'`,
);

/** Sets the payments of confirmed batches to `confirmed`. A fork can still drop the transactions of these batches. */
export async function markConfirmed(tx: Tx, landings: readonly LandedTransaction[]): Promise<void> {
  await tx.query(confirm, [landings.map(({ subject }) => subject), landings.map(({ signature }) => signature)]);
}

/** Sets the payments of batches from `confirmed` back to `batched`, after a fork dropped the transactions of these batches. */
export async function markRetracted(tx: Tx, batches: readonly string[]): Promise<void> {
  await tx.query(retract, [batches]);
}

const close = statement<{ id: string }>(
  'close_payout_batches',
  `with closed as (
     update payout_batches b set state = v.state, signature = v.signature, slot = v.slot, error = v.error, closed_at = app_now()
     from unnest($1::uuid[], $2::text[], $3::text[], $4::int8[], $5::jsonb[]) as v(id, state, signature, slot, error)
     where b.id = v.id and b.state = 'live' returning b.id, b.state),
   unopened as (delete from token_accounts_opened o using closed where o.cause = closed.id and closed.state <> 'paid'),
   freed as (
     update payout_lanes set batch = null, stale = true, changed_at = app_now() from closed where batch = closed.id)
   select id::text from closed`,
);
const release = statement<{ payment: string }>(
  'release_payout_members',
  `update payout_batch_members set live = false where batch = any($1::uuid[]) and live returning payment::text`,
);
const complete = statement<PaidPayment & { signature: string }>(
  'complete_payments',
  `update payments p set state = 'completed', signature = v.signature, reason = null, completed_at = app_now(), changed_at = app_now()
   from unnest($1::uuid[], $2::text[]) as v(batch, signature) join payout_batch_members m on m.batch = v.batch
   where p.id = m.payment and p.state in ('batched', 'confirmed')
   returning p.id::text, p.wallet, p.currency, p.amount::text, p.signature`,
);

/**
 * Completes the payments of finalized batches and emits one event per payment. Idempotent. The lanes of these batches stay stale until a
 * reconciliation has read the new nonces of the lanes.
 */
export async function settleFinalized(tx: Tx, landings: readonly LandedTransaction[]): Promise<void> {
  const ids = landings.map(({ subject }) => subject);
  const signatures = landings.map(({ signature }) => signature);
  const slots = landings.map(({ slot }) => slot);
  await tx.query(close, [ids, ids.map(() => 'paid'), signatures, slots, ids.map(() => null)]);
  for (const { id, ...payment } of await tx.query(complete, [ids, signatures])) {
    tx.emit(payoutConfirmed, { paymentId: id, ...payment }, payment.wallet);
  }
  await tx.query(release, [ids]);
  tx.enqueue(planPayouts, {});
}

/** When one payment has caused this number of batches to fail, the payment is moved to `manual`. */
const MAX_REFUSALS = 3;

/** Names of errors that no single payment causes. After one of these errors, all payments of the failed batch return to `pending`. */
const SHARED_ERRORS: ReadonlySet<string> = new Set(['TreasuryShort', 'TreasuryFrozen', 'OverLimit', 'AccountGone']);
/** Name of the error with which `diagnose` reports that one member cannot be paid. */
export const MEMBER_ERROR = 'Unpayable';

const resetToPending = statement(
  'reset_members_to_pending',
  `update payments set state = 'pending', signature = null, next_at = app_now() + make_interval(secs => $2::float8 / 1000),
     give_ups = give_ups + $3::int, changed_at = app_now()
   where id = any($1::uuid[]) and state in ('batched', 'confirmed')`,
);

/** Delay before the members of a failed batch may be planned again, ms. */
const RETRY_MS = 1_000;

/**
 * Closes batches that did not land, or that landed with an error. Moves a payment that cannot be paid to `manual`. All other payments of the batch
 * return to `pending`.
 */
export async function settleFailed(tx: Tx, failures: readonly FailedTransaction[]): Promise<void> {
  for (const { subject, signature, error } of failures) {
    const batch = await readBatch(tx, subject);
    if (!batch) continue;
    const culprit = SHARED_ERRORS.has(error.name) ? null : (memberOfInstruction(batch.members, error.instruction)?.member ?? null);
    const closed = await tx.query(close, [[subject], ['over'], [signature], [null], [JSON.stringify(error)]]);
    if (closed.length === 0) continue;
    const members = (await tx.query(release, [[subject]])).map(({ payment }) => payment);
    const unpayable = culprit !== null && (await isUnpayable(tx, culprit.payment, error));
    if (unpayable) await moveToManual(tx, [{ id: culprit.payment, reason: reasonOf(error) }]);
    const others = members.filter((id) => !unpayable || id !== culprit.payment);
    // The payments of the closed batch are planned again at once in two cases: the batch expired (then with a higher priority fee), or one member
    // caused the failure. In all other cases the payments wait, because an immediate retry would fail again.
    const givenUp = error.name === 'Dead';
    await tx.query(resetToPending, [others, givenUp || culprit ? 0 : RETRY_MS, givenUp ? 1 : 0]);
  }
  tx.enqueue(planPayouts, {});
}

/**
 * Adds 1 to the number of batches that failed because of a payment. Returns whether the error says that the payment cannot be paid, or the number has
 * reached `MAX_REFUSALS`.
 */
async function isUnpayable(tx: Tx, payment: string, error: ChainError): Promise<boolean> {
  const count = build.updateTable('payments').set((eb) => ({ refusals: eb('refusals', '+', 1) }));
  const [counted] = await run(tx, count.where('id', '=', payment).returning('refusals'));
  return error.name === MEMBER_ERROR || (counted?.refusals ?? 0) >= MAX_REFUSALS;
}

const reasonOf = (error: ChainError): string => (error.name === MEMBER_ERROR ? error.message : `the chain refused the payment: ${error.message}`);
