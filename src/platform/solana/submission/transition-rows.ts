import { statement } from '#platform/db/sql.ts';
import { isPending, type StoredSpend } from './rows.ts';

/**
 * Locks transactions before the states of their attempts change. It must be a statement of its own: the next statement then sees what other processes
 * have committed about the other attempts of the same transactions.
 */
export const lockTransactions = statement(
  'lock_chain_transactions',
  'select 1 from chain_transactions where id = any($1::uuid[]) order by id for update',
);

/** An attempt whose state changed. `decisive`: the state of its transaction changed with it. `spends`: the amounts that the attempt has reserved. */
export interface MovedAttempt {
  id: string;
  n: number;
  spends: StoredSpend[];
  decisive: boolean;
}

/**
 * Changes the states of attempts, if they are still pending (compare-and-set), and the states of the transactions that follow from them. Returns the
 * changed attempts only. Precondition: the transactions are locked.
 *
 * A finalized transaction never changes. An attempt without effect decides about its transaction only when no other attempt of it is live, so no
 * transaction fails or is queued while one of its attempts may land. A fork that drops an attempt decides only if the transaction was confirmed by this
 * attempt.
 */
export const transitionAttempts = statement<MovedAttempt>(
  'apply_attempt_transitions',
  `with transition as (
     select * from unnest($1::uuid[], $2::int[], $3::int8[], $4::jsonb[], $7::float8[]) as v(id, n, slot, error, delay_ms)),
   moved as (
     update chain_attempts a set state = $5, slot = coalesce(v.slot, a.slot), error = coalesce(v.error, a.error), doubt = null, doubted_at = null
     from transition v where a.transaction_id = v.id and a.n = v.n and ${isPending('a')} and a.state <> $5
     returning a.transaction_id as id, a.n, a.signature, a.slot, a.error, a.spends, v.delay_ms),
   decisive as (
     select m.* from moved m join chain_transactions t on t.id = m.id
     where t.state <> 'finalized' and case
       when $5 in ('confirmed', 'finalized') then true
       when $5 = 'sent' then t.state <> 'confirmed' or t.signature = m.signature
       else not exists (
         select from chain_attempts o where o.transaction_id = m.id and ${isPending('o')}
           and not exists (select from moved x where x.id = o.transaction_id and x.n = o.n)) end),
   followed as (
     update chain_transactions t set
       state = case when t.state = 'manual' and $6 in ('live', 'confirmed') then t.state else $6 end,
       signature = case when $6 in ('confirmed', 'finalized') then d.signature else t.signature end,
       slot = case when $6 in ('confirmed', 'finalized') then d.slot else t.slot end,
       error = d.error, refusals = t.refusals + ($5 = 'failed')::int,
       next_at = case when $6 in ('queued', 'failed') then app_now() + make_interval(secs => d.delay_ms / 1000) else t.next_at end, changed_at = app_now()
     from (select distinct on (id) * from decisive order by id, n desc) d where t.id = d.id)
   select m.id::text, m.n, m.spends, (m.id, m.n) in (select id, n from decisive) as decisive from moved m`,
);
