import type { App, GaugeReader, GaugeSample } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { eventStreamKey, readTail } from '#platform/events/redis-stream.ts';
import { leftOf, SOL } from '#platform/solana/submission/outflows.ts';
import { PRIORITIES, type Priority } from '#platform/solana/submission/priorities.ts';
import { ageSeconds, countRows, type GaugeRow, MAX_COUNTED, queryForGauges, readSamples } from './sql-gauges.ts';

/**
 * Counts unpublished events: events without a publication number, and events whose publication number is higher than the last publication number in
 * the Redis stream ($1).
 */
const unpublishedEvents = statement<GaugeRow>(
  'metrics_events',
  `select jsonb_build_object(
     'events_unpublished', ${countRows('outbox where publication is null')} + ${countRows('outbox where publication > $1::int8')},
     'events_oldest_unpublished_seconds', coalesce(greatest(
       (select ${ageSeconds('at')} from outbox where publication is null order by id limit 1),
       (select ${ageSeconds('at')} from outbox where publication > $1::int8 order by publication limit 1)), 0)) as values`,
);
const pendingDeliveries = statement<GaugeRow>(
  'metrics_deliveries',
  `select jsonb_build_object(
     'webhook_deliveries_pending', ${countRows(`webhook_deliveries where state = 'received'`)},
     'webhook_deliveries_oldest_pending_seconds', coalesce((select ${ageSeconds('received_at')} from webhook_deliveries
       where state = 'received' order by received_at limit 1), 0)) as values`,
);
const chainTransactions = statement<GaugeRow>(
  'metrics_transactions',
  `select jsonb_build_object('chain_transactions', n) as values, jsonb_build_object('state', state) as labels
   from (values
     ('queued', ${countRows(`chain_transactions where state = 'queued'`)}),
     ('in_flight', ${countRows(`chain_attempts where state in ('signed', 'sent', 'confirmed')`)}),
     ('manual', ${countRows(`chain_transactions where state in ('manual', 'failed') and state = 'manual'`)}),
     ('failed', ${countRows(`chain_transactions where state in ('manual', 'failed') and state = 'failed' and changed_at > (select app_now()) - interval '1 day'`)})
   ) as t(state, n)
   union all
   select jsonb_build_object('chain_oldest_in_flight_seconds', coalesce(
     (select ${ageSeconds('signed_at')} from chain_attempts where state in ('signed', 'sent', 'confirmed') order by signed_at limit 1), 0)), null`,
);
const outflows = statement<{ asset: string; priority: Priority; reserved: string }>(
  'metrics_outflows',
  `select asset, priority, reserved::text from chain_outflows where day = (select app_day()) and asset = any($1::text[])`,
);

/** Reads backlogs and failures from the platform's tables. */
export const databaseGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_events_unpublished: `Events that are not in the Redis stream yet. At most ${MAX_COUNTED} without and ${MAX_COUNTED} with a publication number are counted.`,
    coinop_events_oldest_unpublished_seconds: 'Age of the oldest event that is not in the Redis stream yet; 0 when all are published.',
    coinop_webhook_deliveries_pending: `Webhook deliveries that are stored and not processed yet, up to ${MAX_COUNTED}.`,
    coinop_webhook_deliveries_oldest_pending_seconds: 'Age of the oldest pending webhook delivery; 0 when none is pending.',
    coinop_chain_transactions: `Solana transactions by state, up to ${MAX_COUNTED} each: queued, in_flight (signed, not final), manual (needs an operator), failed (within a day).`,
    coinop_chain_oldest_in_flight_seconds: 'Time since the oldest in-flight transaction was signed; 0 when none is in flight.',
    coinop_chain_outflow: 'Amount that was sent or reserved for sending in the current UTC day, by asset: lamports or base units.',
    coinop_chain_sol_left:
      'Lamports that each class of transactions can still spend in the current UTC day, without the reserves of the other classes.',
    coinop_chain_outflow_limit: 'Daily limit of the outflow, by asset: lamports or base units.',
  },
  async read(app) {
    const tail = await readTail(app.redis, eventStreamKey(app.config)).catch(() => null);
    return [
      ...(await readSamples(app, unpublishedEvents, [tail?.publication ?? Number.MAX_SAFE_INTEGER])),
      ...(await readSamples(app, pendingDeliveries)),
      ...(await readSamples(app, chainTransactions)),
      ...(await readOutflows(app)),
    ];
  },
};

/**
 * Reads the outflow of the current UTC day and the daily limit of each asset. A label contains the name of the asset instead of its mint address,
 * because mint addresses differ between Solana clusters.
 */
async function readOutflows(app: App): Promise<GaugeSample[]> {
  const { rewardMint, usdcMint, dailyLimits, tokenAccounts } = app.config.chain;
  const assets = [
    { name: 'sol', asset: 'sol', limit: dailyLimits.sol },
    { name: 'token_accounts', asset: 'token-accounts', limit: tokenAccounts.dailyBudget },
    ...(rewardMint ? [{ name: 'reward', asset: rewardMint, limit: dailyLimits.reward }] : []),
    ...(usdcMint ? [{ name: 'usdc', asset: usdcMint, limit: dailyLimits.usdc }] : []),
  ];
  const rows = await queryForGauges(app, outflows, [assets.map(({ asset }) => asset)]);
  const spentOf = (wanted: string) =>
    rows.filter(({ asset }) => asset === wanted).map(({ priority, reserved }) => [priority, BigInt(reserved)] as const);
  const sol = new Map(spentOf(SOL));
  return [
    ...assets.flatMap(({ name, asset, limit }) => [
      { name: 'coinop_chain_outflow', labels: { asset: name }, value: Number(spentOf(asset).reduce((sum, [, amount]) => sum + amount, 0n)) },
      { name: 'coinop_chain_outflow_limit', labels: { asset: name }, value: Number(limit) },
    ]),
    ...PRIORITIES.map((priority) => ({ name: 'coinop_chain_sol_left', labels: { priority }, value: Number(leftOf(app, SOL, sol, priority)) })),
  ];
}
