import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ageSeconds, countRows, type GaugeRow, MAX_COUNTED, readSamples } from '#platform/observability/metrics/sql-gauges.ts';
import { PAYOUTS_SCOPE } from './batches/transaction-type.ts';

const payments = statement<GaugeRow>(
  'metrics_payments',
  `select jsonb_build_object(
     'payments', ${countRows('payments p where p.payer = k.payer and p.state = k.state')},
     'payments_oldest_seconds', coalesce((select ${ageSeconds('p.created_at')} from payments p
       where p.payer = k.payer and p.state = k.state order by p.created_at limit 1), 0)
   ) as values, jsonb_build_object('payer', k.payer, 'state', k.state) as labels
   from (values ('treasury', 'pending'), ('treasury', 'batched'), ('treasury', 'confirmed'), ('treasury', 'manual'),
     ('orchestrator', 'pending'), ('orchestrator', 'failed')) as k(payer, state)
   union all
   select jsonb_build_object(
     'payout_unmatched_transactions', ${countRows(`payout_findings where verdict = 'unmatched'`)},
     'payout_lane_waiting_seconds', coalesce((select ${ageSeconds('min(waiting_since)')} from payout_lanes), 0)
   ), null`,
);
/** Parameter $1: names of pause scopes that are reported as 0 when they are not paused. */
const pauses = statement<GaugeRow>(
  'metrics_pauses',
  `select jsonb_build_object('chain_paused', (c.scope is not null)::int) as values, jsonb_build_object('scope', coalesce(c.scope, k.scope)) as labels
   from unnest($1::text[]) as k(scope) full join (select scope from chain_pauses order by scope limit 50) c on c.scope = k.scope`,
);

/** Reads the numbers of open payments and unmatched transactions, and which scopes are paused. */
export const payoutGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_payments: `Number of open payments by payer and state, each up to ${MAX_COUNTED}.`,
    coinop_payments_oldest_seconds: 'Age of the oldest open payment by payer and state, seconds; 0 when there is no open payment.',
    coinop_payout_unmatched_transactions: `Number of transactions on payout lanes that match no payment, up to ${MAX_COUNTED}. Payouts are paused while the number is not 0.`,
    coinop_payout_lane_waiting_seconds:
      'Time for which a payout lane has waited because the transaction that used its nonce is not known, seconds. The lane that has waited the longest counts; 0 when none waits.',
    coinop_chain_paused: '1 while no transaction of a scope is signed because the scope is paused, otherwise 0.',
  },
  read: async (app) => [...(await readSamples(app, payments)), ...(await readSamples(app, pauses, [[PAYOUTS_SCOPE]]))],
};
