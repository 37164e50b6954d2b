import { hashOfMembers } from '#areas/payouts/batches/members.ts';
import { type Check, DifferenceList, databaseCheck } from '../check.ts';

/**
 * SQL expression for the id that a payment must have. It computes the id from `h`, the hash of the cause of the payment (for example a prize), in the
 * same way as `paymentId`.
 */
const ID_OF_CAUSE = `encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8, get_byte(h, 8) & 63 | 128), 'hex')::uuid`;

interface StoredBatch {
  readonly id: string;
  readonly mint: string;
  readonly hash: string;
  readonly members: readonly { payment: string; wallet: string; amount: string; opens: boolean; cause: { kind: string; id: string } }[];
}
const SELECT_BATCHES = (limit: string) => `
  select b.id::text, b.mint, b.members_hash as hash,
    (select coalesce(json_agg(json_build_object('payment', p.id, 'wallet', p.wallet, 'amount', p.amount::text, 'opens', m.opens,
       'cause', json_build_object('kind', p.cause_kind, 'id', p.cause_id)) order by m.position), '[]')
     from payout_batch_members m join payments p on p.id = m.payment where m.batch = b.id) as members
  from payout_batches b order by b.created_at desc limit ${limit}`;

/** Hashes the members of the newest batches only, because batches never change and earlier audits hashed the older ones. */
const payoutMembers: Check = {
  name: 'payout-members',
  invariant: 'the hash in the memo of a batch is that of its members in their order',
  async run({ db, scope }) {
    const found = new DifferenceList();
    for (const { id, mint, hash, members } of await db.query<StoredBatch>({
      text: SELECT_BATCHES(scope.all ? 'all' : String(Math.trunc(scope.sample))),
    })) {
      const own = members.map((member) => ({ ...member, amount: BigInt(member.amount) }));
      if (hashOfMembers({ mint }, own) !== hash) found.add(`batch ${id}: its members do not match its memo`);
    }
    return found;
  },
};

/** Checks of payments, payout batches, prizes and refunds. */
export const paymentChecks: readonly Check[] = [
  payoutMembers,
  databaseCheck(
    'payments',
    'at most one transaction paid each payment, and it belongs to the batch or the finding that lists the payment',
    `with made as (
       select m.payment, b.signature from payout_batches b join payout_batch_members m on m.batch = b.id where b.state = 'paid'
       union select p.payment, f.signature from payout_findings f, unnest(f.payments) p(payment) where f.verdict = 'matched'),
     counted as (select payment, count(distinct signature) as n, min(signature) as signature from made group by 1)
     select format('payment %s is %s with signature %s, but %s transactions have paid it (signature %s)', p.id, p.state, coalesce(p.signature, 'none'), c.n, c.signature) as what
     from counted c left join payments p on p.id = c.payment where c.n > 1 or p.state is distinct from 'completed' or p.signature is distinct from c.signature
     union all select format('payment %s is %s, but in %s live batches', p.id, p.state, count(m.batch))
     from payments p left join (payout_batch_members m join payout_batches b on b.id = m.batch and b.state = 'live' and m.live) on m.payment = p.id
     where p.payer = 'treasury' and (p.state in ('batched', 'confirmed') or m.batch is not null)
     group by p.id having count(m.batch) <> 1 or p.state not in ('batched', 'confirmed')
     union all select format('payment %s has an id that does not match its cause %s %s', id, cause_kind, cause_id)
     from payments, lateral (select substring(sha256(convert_to(concat_ws(E'\\n', 'coinop/payment/1', cause_kind, cause_id), 'UTF8')) for 16) as h) c
     where id <> ${ID_OF_CAUSE}`,
  ),
  databaseCheck(
    'payout-batches',
    'the state of a batch matches its transaction, and a lane has at most one live batch',
    `select format('batch %s is %s with signature %s, but its transaction is %s with signature %s', coalesce(b.id::text, t.subject), b.state, b.signature, t.state, t.signature) as what
     from payout_batches b full join (select * from chain_transactions where kind = 'payout-batch') t on t.subject = b.id::text
     where b.id is null or coalesce(case b.state when 'paid' then t.state <> 'finalized' or t.signature is distinct from b.signature when 'over' then t.state <> 'failed'
       else t.state not in ('queued', 'live', 'confirmed', 'manual') end, true)
     union all select format('batch %s is %s, but the live flag of member %s does not match', b.id, b.state, m.payment)
     from payout_batches b join payout_batch_members m on m.batch = b.id where m.live <> (b.state = 'live')
     union all select format('lane %s has batch %s, but batch %s is live', lane, l.batch, b.id)
     from payout_lanes l full join (select id, lane from payout_batches where state = 'live') b using (lane) where l.batch is distinct from b.id`,
  ),
  databaseCheck(
    'prizes',
    'each drawn prize has exactly one payment, and each prize payment has a drawn prize',
    `select format('prize %s: expected %s %s for %s, but the payment is %s %s for %s', cause_id, w.amount, w.mint, w.wallet, p.amount, p.currency, p.wallet) as what
     from (select *, round || ':' || place as cause_id from round_winners) w full join (select * from payments where cause_kind = 'prize') p using (cause_id)
     where (w.wallet, w.mint, w.amount) is distinct from (p.wallet, p.currency, p.amount)`,
  ),
  databaseCheck(
    'refunds',
    'a paid ticket that does not count has exactly one refund, and no other ticket has one',
    `with refunds as (
       select t.id, t.wallet, t.state, (r->>'payment')::uuid as payment, r->>'currency' as currency, (r->>'amount')::numeric as amount
       from tickets t, jsonb_array_elements(t.refunds) r)
     select format('ticket %s: expected a refund of %s %s to %s, but payment %s has %s %s for %s', t.id, t.amount, t.currency, t.wallet, p.id, p.amount, p.currency, p.wallet) as what
     from refunds t full join (select * from payments where cause_kind = 'refund') p on p.id = t.payment
     where (t.wallet, t.currency, t.amount) is distinct from (p.wallet, p.currency, p.amount)
     union all select format('payment %s is the refund of %s tickets', payment, count(*)) from refunds group by payment having count(*) > 1`,
  ),
];
