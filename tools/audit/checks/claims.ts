import { AT, databaseCheck } from '../check.ts';

/** Checks of claims and of the states of reward epochs. */
export const claimChecks = [
  databaseCheck(
    'claims',
    'a claim has the wallet and amount of its leaf, and its state matches that of its transaction',
    `select format('claim %s of epoch %s/%s pays %s to %s, but its leaf pays %s to %s', c.id, c.epoch, c.index, c.amount, c.wallet, l.amount, l.wallet) as what
     from claims c left join epochs e on e.epoch = c.epoch
     left join reward_leaves l on l.epoch = e.epoch and l.allocation = e.allocation and l.index = c.index where (c.amount, c.wallet) is distinct from (l.amount, l.wallet)
     union all select format('claim %s is %s with signature %s, but its transaction is %s', c.id, c.state, c.signature, coalesce(t.state, 'missing'))
     from claims c left join chain_transactions t on t.kind = 'claim' and t.subject = c.id::text
     where case c.state when 'claimed' then false when 'failed' then t.state is distinct from 'failed'
       else coalesce(t.state, '') not in ('queued', 'live', 'confirmed', 'manual') end
     union all select format('claim %s is %s, but its transaction has landed', c.id, c.state)
     from claims c join chain_transactions t on t.kind = 'claim' and t.subject = c.id::text where t.state = 'finalized' and c.state <> 'claimed'`,
  ),
  databaseCheck(
    'claimed-sums',
    'the claims of an epoch sum to its claimed amount, which is at most its total',
    `with summed as (select epoch, sum(amount) as claimed, count(*) as claims from claims where state = 'claimed' group by 1)
     select format('epoch %s: %s claims sum to %s, but the epoch has %s claims with sum %s; its total is %s', epoch, coalesce(s.claims, 0), coalesce(s.claimed, 0), a.claims, a.claimed, e.total) as what
     from summed s full join epoch_accounts a using (epoch) left join epochs e using (epoch)
     where a.other_root is null and ((coalesce(s.claimed, 0), coalesce(s.claims, 0)) is distinct from (a.claimed, a.claims) or a.claimed > e.total)`,
  ),
  databaseCheck(
    'epoch-states',
    'the state of an epoch matches its account on the chain, and its total is at most its pool',
    `select format('epoch %s is %s, but its account was opened at %s and closed at %s', epoch, e.state, coalesce(a.opened_at::text, 'never'), coalesce(a.closed_at::text, 'never')) as what
     from epochs e left join epoch_accounts a using (epoch)
     where a.other_root is null and ((e.state in ('committed', 'expired') and a.opened_at is null)
       or (e.state in ('empty', 'computing', 'computed') and a.opened_at is not null) or (e.committed_at is not null) <> (a.opened_at is not null))
     union all select format('epoch %s has total %s, more than its pool %s', epoch, total, pool) from epochs where total > pool
     union all select format('epoch %s is computed, but there is no transaction for its root', epoch) from epochs e
     where state = 'computed' and settle_requested_at is null and exclusions_changed_at is null
       and coalesce(review_ends_at < ${AT} - interval '10 minutes', true) and not exists (select from chain_transactions t where t.kind = 'epoch-root' and t.subject = e.epoch::text)
     union all select format('epoch %s expired at %s, but is still %s', epoch, expires_at, state) from epochs where state = 'committed' and expires_at < ${AT} - interval '1 hour'`,
  ),
];
