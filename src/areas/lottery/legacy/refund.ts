import { owe, paymentId } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Tickets that one statement takes. */
const CHUNK = 5_000;

const take = statement<{ id: string; wallet: string; signature: string; price: string }>(
  'take_tickets_to_refund',
  `select t.id::text, t.wallet, t.signature, r.ticket_price::text as price from tickets t join rounds r on r.id = t.round
   where t.round = $1 and t.state = 'confirmed' and t.signature is not null order by t.id limit ${CHUNK} for update of t`,
);
const refund = statement(
  'refund_tickets',
  `update tickets t set state = 'refunded', refunds = jsonb_build_array(jsonb_build_object('payment', v.payment, 'currency', 'usdc', 'amount', v.amount))
   from unnest($1::uuid[], $2::text[], $3::text[]) as v(id, payment, amount) where t.id = v.id`,
);

/**
 * Owes back what all tickets of a round that is void were paid with, in the transaction that voids it (and has locked it). Again the
 * same: nothing. Free tickets stay as they are.
 */
export async function refundTickets(tx: Tx, app: Pick<App, 'config'>, round: string): Promise<void> {
  for (;;) {
    const tickets = await tx.query(take, [round]);
    const causes = tickets.map(({ signature }) => ({ kind: 'refund', id: signature }));
    const debts = tickets.flatMap(({ wallet, price }, i) => {
      const cause = causes[i];
      return cause ? [{ wallet, currency: 'usdc' as const, amount: BigInt(price), cause }] : [];
    });
    await owe(app, tx, debts);
    await tx.query(refund, [tickets.map(({ id }) => id), causes.map(paymentId), tickets.map(({ price }) => price)]);
    if (tickets.length < CHUNK) return;
  }
}
