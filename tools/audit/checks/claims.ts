import { AT, recordCheck } from '../check.ts';

/** Epochs of rewards, and what was claimed of them. */
export const claimChecks = [
  recordCheck(
    'claims',
    'a claim is that of its leaf, and as far as its transaction is',
    `select format('claim %s of epoch %s/%s gives %s to %s, and the leaf %s to %s', c.id, c.epoch, c.index, c.amount, c.wallet, l.amount, l.wallet) as what
     from claims c left join reward_leaves l on l.epoch = c.epoch and l.index = c.index where (c.amount, c.wallet) is distinct from (l.amount, l.wallet)
     union all select format('claim %s is %s by %s, and its transaction is %s', c.id, c.state, c.signature, coalesce(t.state, 'not there'))
     from claims c left join chain_transactions t on t.kind = 'claim' and t.subject = c.id::text
     where case c.state when 'claimed' then false when 'failed' then t.state is distinct from 'failed'
       else coalesce(t.state, '') not in ('queued', 'live', 'confirmed', 'manual') end
     union all select format('claim %s is %s, and its transaction has landed', c.id, c.state)
     from claims c join chain_transactions t on t.kind = 'claim' and t.subject = c.id::text where t.state = 'finalized' and c.state <> 'claimed'`,
  ),
  recordCheck(
    'claimed-sums',
    'what is claimed of an epoch adds up to what it says, and to no more than its total',
    `with summed as (select epoch, sum(amount) as claimed, count(*) as claims from claims where state = 'claimed' group by 1)
     select format('epoch %s: %s are claimed in %s claims, and it says %s in %s; its total is %s', epoch, coalesce(s.claimed, 0), coalesce(s.claims, 0), a.claimed, a.claims, e.total) as what
     from summed s full join epoch_accounts a using (epoch) left join epochs e using (epoch)
     where (coalesce(s.claimed, 0), coalesce(s.claims, 0)) is distinct from (a.claimed, a.claims) or a.claimed > e.total`,
  ),
  recordCheck(
    'epoch-states',
    'an epoch is on the chain where it says so, and gives no more than its pool',
    `select format('epoch %s is %s, and its account was opened at %s and closed at %s', epoch, e.state, coalesce(a.opened_at::text, 'no time'), coalesce(a.closed_at::text, 'no time')) as what
     from epochs e left join epoch_accounts a using (epoch)
     where (e.state in ('committed', 'expired') and a.opened_at is null) or (e.state in ('empty', 'computing', 'computed') and a.opened_at is not null)
       or (e.committed_at is not null) <> (a.opened_at is not null)
     union all select format('epoch %s gives %s of a pool of %s', epoch, total, pool) from epochs where total > pool
     union all select format('epoch %s is computed, and its root was never asked for', epoch) from epochs e
     where state = 'computed' and not exists (select from chain_transactions t where t.kind = 'epoch-root' and t.subject = e.epoch::text)
     union all select format('epoch %s expired at %s, and is %s', epoch, expires_at, state) from epochs where state = 'committed' and expires_at < ${AT} - interval '1 hour'`,
  ),
];
