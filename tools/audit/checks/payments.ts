import { recordCheck } from '../check.ts';

/** SQL: the id that a payment has by its cause, see `paymentId`. */
const ID_OF_CAUSE = `encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8, get_byte(h, 8) & 63 | 128), 'hex')::uuid`;

/** What is owed and paid. */
export const paymentChecks = [
  recordCheck(
    'payments',
    'a payment was made by one transaction at most: by the batch, or the finding, that names it',
    `with made as (
       select m.payment, b.signature from payout_batches b join payout_batch_members m on m.batch = b.id where b.state = 'paid'
       union select p.payment, f.signature from payout_findings f, unnest(f.payments) p(payment) where f.verdict = 'matched'),
     counted as (select payment, count(distinct signature) as n, min(signature) as signature from made group by 1)
     select format('payment %s is %s by %s, and %s transactions have made it, %s among them', p.id, p.state, coalesce(p.signature, 'none'), c.n, c.signature) as what
     from counted c left join payments p on p.id = c.payment where c.n > 1 or p.state is distinct from 'completed' or p.signature is distinct from c.signature
     union all select format('payment %s is %s, and in %s live batches', p.id, p.state, count(m.batch))
     from payments p left join (payout_batch_members m join payout_batches b on b.id = m.batch and b.state = 'live' and m.live) on m.payment = p.id
     where p.payer = 'treasury' and (p.state in ('batched', 'confirmed') or m.batch is not null)
     group by p.id having count(m.batch) <> 1 or p.state not in ('batched', 'confirmed')
     union all select format('payment %s has another id than its cause %s %s gives', id, cause_kind, cause_id)
     from payments, lateral (select substring(sha256(convert_to(concat_ws(E'\\n', 'coinop/payment/1', cause_kind, cause_id), 'UTF8')) for 16) as h) c
     where id <> ${ID_OF_CAUSE}`,
  ),
  recordCheck(
    'payout-batches',
    'a batch is as far as its transaction is, its members are those that its memo names, and a lane has one at a time',
    `select format('batch %s is %s by %s, and its transaction is %s by %s', coalesce(b.id::text, t.subject), b.state, b.signature, t.state, t.signature) as what
     from payout_batches b full join (select * from chain_transactions where kind = 'payout-batch') t on t.subject = b.id::text
     where b.id is null or coalesce(case b.state when 'paid' then t.state <> 'finalized' or t.signature is distinct from b.signature when 'over' then t.state <> 'failed'
       else t.state not in ('queued', 'live', 'confirmed', 'manual') end, true)
     union all select format('batch %s: its members are not those of its memo', b.id)
     from payout_batches b left join payout_batch_members m on m.batch = b.id
     group by b.id having b.members_hash is distinct from encode(substring(sha256(string_agg(uuid_send(m.payment), ''::bytea order by m.position)) for 16), 'hex')
     union all select format('batch %s is %s, and member %s is live', b.id, b.state, m.payment)
     from payout_batches b join payout_batch_members m on m.batch = b.id where m.live <> (b.state = 'live')
     union all select format('lane %s has batch %s, and batch %s is live', lane, l.batch, b.id)
     from payout_lanes l full join (select id, lane from payout_batches where state = 'live') b using (lane) where l.batch is distinct from b.id`,
  ),
  recordCheck(
    'prizes',
    'each prize of a round that was drawn is owed once, and no prize is owed that was not drawn',
    `select format('prize %s: %s %s for %s is due, %s %s is owed to %s', cause_id, w.amount, w.mint, w.wallet, p.amount, p.currency, p.wallet) as what
     from (select *, round || ':' || place as cause_id from round_winners) w full join (select * from payments where cause_kind = 'prize') p using (cause_id)
     where (w.wallet, w.mint, w.amount) is distinct from (p.wallet, p.currency, p.amount)`,
  ),
  recordCheck(
    'refunds',
    'what a ticket was paid with is owed back where it does not count, once, and nothing else is',
    `with told as (
       select t.id, t.wallet, t.state, (r->>'payment')::uuid as payment, r->>'currency' as currency, (r->>'amount')::numeric as amount
       from tickets t, jsonb_array_elements(t.refunds) r)
     select format('ticket %s: %s %s is due to %s, payment %s has %s %s for %s', t.id, t.amount, t.currency, t.wallet, p.id, p.amount, p.currency, p.wallet) as what
     from told t full join (select * from payments where cause_kind = 'refund') p on p.id = t.payment
     where (t.wallet, t.currency, t.amount) is distinct from (p.wallet, p.currency, p.amount)
     union all select format('payment %s is the refund of %s tickets', payment, count(*)) from told group by payment having count(*) > 1
     union all select format('ticket %s of round %s, which is void, was paid by %s and is not paid back', t.id, t.round, t.signature)
     from tickets t join rounds r on r.id = t.round where r.state = 'void' and t.state = 'confirmed' and t.signature is not null
     union all select format('ticket %s is %s, and its round is %s', t.id, t.state, r.state)
     from tickets t join rounds r on r.id = t.round where t.state = 'refunded' and (r.state <> 'void' or jsonb_array_length(t.refunds) <> 1)`,
  ),
];
