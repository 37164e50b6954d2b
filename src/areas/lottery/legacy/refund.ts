import { createPayments, paymentId } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Tickets per statement. */
const BATCH = 5_000;

const take = statement<{ id: string; wallet: string; signature: string; price: string }>(
  'take_tickets_to_refund',
  `select t.id::text, t.wallet, t.signature, r.ticket_price::text as price from tickets t join rounds r on r.id = t.round
   where t.round = $1 and t.state = 'confirmed' and t.signature is not null order by t.id limit ${BATCH} for update of t`,
);
const refund = statement(
  'refund_tickets',
  `update tickets t set state = 'refunded', refunds = jsonb_build_array(jsonb_build_object('payment', v.payment, 'currency', 'usdc', 'amount', v.amount))
   from unnest($1::uuid[], $2::text[], $3::text[]) as v(id, payment, amount) where t.id = v.id`,
);

/**
 * Creates the refunds of all paid tickets of a void round. Idempotent. Free tickets stay unchanged. Precondition: the database transaction `tx` has
 * locked the round and also voids the round.
 */
export async function refundTickets(tx: Tx, app: Pick<App, 'config'>, round: string): Promise<void> {
  for (;;) {
    const tickets = await tx.query(take, [round]);
    const causes = tickets.map(({ signature }) => ({ kind: 'refund', id: signature }));
    const requests = tickets.flatMap(({ wallet, price }, i) => {
      const cause = causes[i];
      return cause ? [{ wallet, currency: 'usdc' as const, amount: BigInt(price), cause }] : [];
    });
    await createPayments(app, tx, requests);
    await tx.query(refund, [tickets.map(({ id }) => id), causes.map(paymentId), tickets.map(({ price }) => price)]);
    if (tickets.length < BATCH) return;
  }
}
