import type { PayoutMember } from '#lib/draw/payout.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { type PaymentCause, publishedMember } from './members.ts';

/** A batch that a finalized transaction paid, with all its members in order. */
export interface PublishedBatch {
  readonly id: string;
  readonly signature: string;
  readonly members: readonly PayoutMember[];
}

interface BatchRow {
  id: string;
  signature: string;
  members: { id: string; wallet: string; amount: string; mint: string; cause: PaymentCause }[];
}
const member = (mint: string) =>
  `json_build_object('id', p.id, 'wallet', p.wallet, 'amount', p.amount::text, 'mint', ${mint}, 'cause', json_build_object('kind', p.cause_kind, 'id', p.cause_id))`;
// The second half reads transactions that were not in the database, for example after a restore from a backup, and that were matched with payments.
const selectBatches = statement<BatchRow>(
  'read_paid_batches_of_payments',
  `select b.id::text, b.signature, json_agg(${member('b.mint')} order by m.position) as members
   from payout_batches b join payout_batch_members m on m.batch = b.id join payments p on p.id = m.payment
   where b.state = 'paid' and b.id = any(array(select batch from payout_batch_members where payment = any($1::uuid[])))
   group by b.id
   union all
   select f.batch::text, f.signature, json_agg(${member(`f.transfers->(o.n - 1)::int->>'mint'`)} order by o.n)
   from payout_findings f cross join unnest(f.payments) with ordinality as o(payment, n) join payments p on p.id = o.payment
   where f.verdict = 'matched' and f.batch is not null and f.signature = any(array(select signature from payments where id = any($1::uuid[])))
   group by f.signature`,
);

/** Reads the batches that paid payments, by the signature of their transaction. A payment that is not paid, or that another service pays, has none. */
export async function readPaidBatches(db: Queryable, payments: readonly string[]): Promise<ReadonlyMap<string, PublishedBatch>> {
  if (payments.length === 0) return new Map();
  const rows = await db.query(selectBatches, [payments]);
  return new Map(
    rows.map(({ id, signature, members }) => [signature, { id, signature, members: members.map((one) => publishedMember(one, one.mint)) }]),
  );
}
