import { planPayouts } from '#jobs/payouts.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ChainError, Failure, Landing } from '#platform/solana/submission/transactions.ts';
import { payoutConfirmed } from '../events.ts';
import { setAside } from '../manual.ts';
import { memberAt } from './members.ts';
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

/** What a cluster has voted for is shown, and may still vanish. */
export async function bookConfirmed(tx: Tx, landings: readonly Landing[]): Promise<void> {
  await tx.query(confirm, [landings.map(({ subject }) => subject), landings.map(({ signature }) => signature)]);
}

export async function bookRetracted(tx: Tx, batches: readonly string[]): Promise<void> {
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
const complete = statement<{ id: string; wallet: string; currency: string; amount: string; signature: string }>(
  'complete_payments',
  `update payments p set state = 'completed', signature = v.signature, reason = null, completed_at = app_now(), changed_at = app_now()
   from unnest($1::uuid[], $2::text[]) as v(batch, signature) join payout_batch_members m on m.batch = v.batch
   where p.id = m.payment and p.state in ('batched', 'confirmed')
   returning p.id::text, p.wallet, p.currency, p.amount::text, p.signature`,
);

/** Closes the books of batches that have landed for good: their members are paid, once. The lane is free when its new nonce was read. */
export async function bookFinalized(tx: Tx, landings: readonly Landing[]): Promise<void> {
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

/** Refusals that a payment may cause before people look at it. */
const MOST_REFUSALS = 3;

/** Errors that are nobody's fault among the members: they wait a little, and regroup. */
export const SHARED_ERRORS: ReadonlySet<string> = new Set(['TreasuryShort', 'TreasuryFrozen', 'OverLimit', 'AccountGone']);
/** Errors that name a member who cannot be paid, as `diagnose` has seen it on the chain. */
export const MEMBER_ERROR = 'Unpayable';

const regroup = statement(
  'regroup_payments',
  `update payments set state = 'pending', signature = null, next_at = app_now() + make_interval(secs => $2::float8 / 1000),
     give_ups = give_ups + $3::int, changed_at = app_now()
   where id = any($1::uuid[]) and state in ('batched', 'confirmed')`,
);
const blame = statement<{ refusals: number }>('blame_payment', 'update payments set refusals = refusals + 1 where id = $1 returning refusals::int');

const RETRY_MS = 1_000;

/** Ends batches that did not land, or landed as errors: who made one fail is set aside, the others go into another batch. */
export async function bookFailed(tx: Tx, failures: readonly Failure[]): Promise<void> {
  for (const { subject, signature, error } of failures) {
    const batch = await readBatch(tx, subject);
    if (!batch) continue;
    const culprit = SHARED_ERRORS.has(error.name) ? null : (memberAt(batch.members, error.instruction)?.member ?? null);
    const closed = await tx.query(close, [[subject], ['over'], [signature], [null], [JSON.stringify(error)]]);
    if (closed.length === 0) continue;
    const members = (await tx.query(release, [[subject]])).map(({ payment }) => payment);
    const unfit = culprit !== null && (await isUnfit(tx, culprit.payment, error));
    if (unfit) await setAside(tx, [{ id: culprit.payment, reason: reasonOf(error) }]);
    const others = members.filter((id) => !unfit || id !== culprit.payment);
    // What was given up goes at once, and offers more; what was refused would only be refused again.
    const givenUp = error.name === 'Dead';
    await tx.query(regroup, [others, givenUp || culprit ? 0 : RETRY_MS, givenUp ? 1 : 0]);
  }
  tx.enqueue(planPayouts, {});
}

/** A member that was seen to be unpayable, or that made several batches fail, whatever for. */
async function isUnfit(tx: Tx, payment: string, error: ChainError): Promise<boolean> {
  const refusals = (await tx.query(blame, [payment]))[0]?.refusals ?? 0;
  return error.name === MEMBER_ERROR || refusals >= MOST_REFUSALS;
}

const reasonOf = (error: ChainError): string => (error.name === MEMBER_ERROR ? error.message : `the chain refused it: ${error.message}`);
