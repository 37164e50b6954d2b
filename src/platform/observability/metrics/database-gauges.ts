import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { eventStreamKey, readTail } from '#platform/events/redis-stream.ts';
import type { Reading, Sample } from './gauge-reader.ts';

/** Beyond so many rows nothing is counted: by then somebody should have looked. */
const MOST = 5_000;
const counted = (rows: string) => `(select count(*) from (select 1 from ${rows} limit ${MOST}) as counted)::float8`;
const age = (column: string) => `extract(epoch from (select app_now()) - ${column})::float8`;

interface Row {
  /** Gauges by their names without `coinop_`; null = there is nothing to tell. */
  readonly values: Readonly<Record<string, number | null>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** $1: the last number that is in the feed; what is numbered beyond it, or not at all, is not published. */
const events = statement<Row>(
  'metrics_events',
  `select jsonb_build_object(
     'events_unpublished', ${counted('outbox where publication is null')} + ${counted('outbox where publication > $1::int8')},
     'events_oldest_unpublished_seconds', coalesce(greatest(
       (select ${age('at')} from outbox where publication is null order by id limit 1),
       (select ${age('at')} from outbox where publication > $1::int8 order by publication limit 1)), 0)) as values`,
);
const activities = statement<Row>(
  'metrics_activities',
  `select jsonb_build_object(
     'activities_oldest_open_seconds', coalesce((select ${age('at')} from activity_batches order by id limit 1), 0),
     'activities_set_aside', ${counted('activity_failures')}) as values`,
);
const deliveries = statement<Row>(
  'metrics_deliveries',
  `select jsonb_build_object(
     'webhook_deliveries_waiting', ${counted(`webhook_deliveries where state = 'received'`)},
     'webhook_oldest_waiting_seconds', coalesce((select ${age('received_at')} from webhook_deliveries where state = 'received' order by received_at limit 1), 0)) as values`,
);
const transactions = statement<Row>(
  'metrics_transactions',
  `select jsonb_build_object('chain_transactions', n) as values, jsonb_build_object('state', state) as labels
   from (values
     ('queued', ${counted(`chain_transactions where state = 'queued'`)}),
     ('live', ${counted(`chain_attempts where state in ('signed', 'sent', 'confirmed')`)}),
     ('manual', ${counted(`chain_transactions where state in ('manual', 'failed') and state = 'manual'`)}),
     ('failed', ${counted(`chain_transactions where state in ('manual', 'failed') and state = 'failed' and changed_at > (select app_now()) - interval '1 day'`)})
   ) as t(state, n)
   union all
   select jsonb_build_object('chain_oldest_live_seconds', coalesce(
     (select ${age('signed_at')} from chain_attempts where state in ('signed', 'sent', 'confirmed') order by signed_at limit 1), 0)), null`,
);
const payments = statement<Row>(
  'metrics_payments',
  `select jsonb_build_object(
     'payments', ${counted('payments p where p.payer = k.payer and p.state = k.state')},
     'payments_oldest_seconds', coalesce((select ${age('p.created_at')} from payments p where p.payer = k.payer and p.state = k.state order by p.created_at limit 1), 0)
   ) as values, jsonb_build_object('payer', k.payer, 'state', k.state) as labels
   from (values ('treasury', 'pending'), ('treasury', 'batched'), ('treasury', 'confirmed'), ('treasury', 'manual'),
     ('orchestrator', 'pending'), ('orchestrator', 'failed')) as k(payer, state)
   union all
   select jsonb_build_object('payout_findings_unmatched', ${counted(`payout_findings where verdict = 'unmatched'`)}), null`,
);
/** $1: the scopes that are told as not paused, too. */
const pauses = statement<Row>(
  'metrics_pauses',
  `select jsonb_build_object('chain_paused', (c.scope is not null)::int) as values, jsonb_build_object('scope', coalesce(c.scope, k.scope)) as labels
   from unnest($1::text[]) as k(scope) full join (select scope from chain_pauses order by scope limit 50) c on c.scope = k.scope`,
);
const outflows = statement<{ asset: string; reserved: number }>(
  'metrics_outflows',
  `select a.asset, coalesce(o.reserved, 0)::float8 as reserved
   from unnest($1::text[]) as a(asset) left join chain_outflows o on o.day = (select app_day()) and o.asset = a.asset`,
);
const days = statement<Row>(
  'metrics_days',
  `select jsonb_build_object('day_closed_timestamp_seconds', (max(bucket) + 1) * 86400::float8) as values, null as labels
   from closed_periods where period = 'day'
   union all
   select jsonb_build_object('epoch_unfinished_seconds', coalesce((select ${age(`case k.state when 'computed' then computed_at else created_at end`)}
     from epochs e where e.state = k.state order by epoch limit 1), 0)), jsonb_build_object('state', k.state)
   from (values ('computing'), ('computed')) as k(state)`,
);
/** Behind what: the clock that closes a round; its closing; its beacon; the schedule. */
const rounds = statement<Row>(
  'metrics_rounds',
  `select jsonb_build_object('rounds', count(r.id)::float8, 'round_overdue_seconds', greatest(0, coalesce(max(${age(
    `case r.state when 'active' then r.closes_at when 'closing' then r.closed_at else r.beacon_due_at end`,
  )}), 0))) as values, jsonb_build_object('state', k.state) as labels
   from (values ('active'), ('closing'), ('committed')) as k(state)
   left join lateral (
     select id, state, closes_at, closed_at, beacon_due_at from rounds
     where state in ('active', 'closing', 'committed') and state = k.state order by closes_at limit ${MOST}) r on true
   group by k.state
   union all
   select jsonb_build_object('round_schedule_overdue_seconds', greatest(0, coalesce((select ${age('next_at')} from round_schedule), 0))), null`,
);

/** What stands in the record, and should not stand there for long. */
export const record: Reading = {
  keepMs: 5_000,
  gauges: {
    coinop_events_unpublished: `Events that are not in the feed yet, up to ${MOST} of each kind of them.`,
    coinop_events_oldest_unpublished_seconds: 'Age of the oldest event that is not in the feed yet; 0 where there is none.',
    coinop_activities_oldest_open_seconds: 'How long the oldest activity has waited for its consumers.',
    coinop_activities_set_aside: 'Activities that a consumer could not do anything about; for people.',
    coinop_webhook_deliveries_waiting: `Deliveries that are not worked on yet, up to ${MOST}.`,
    coinop_webhook_oldest_waiting_seconds: 'Age of the oldest of them.',
    coinop_chain_transactions: `What is to land, by state, up to ${MOST}: queued, live (signed), manual (needs a person), failed (within a day).`,
    coinop_chain_oldest_live_seconds: 'Age of the oldest signed transaction that is not final.',
    coinop_payments: `Payments that are open, by payer and state, up to ${MOST} each.`,
    coinop_payments_oldest_seconds: 'Age of the oldest of them.',
    coinop_payout_findings_unmatched: 'Transactions of payout lanes that could not be matched; payouts stand still.',
    coinop_chain_paused: 'Whether nothing of a scope is signed.',
    coinop_chain_outflow: 'What has left today or may leave, by asset: lamports, or base units. The daily limit stops it.',
    coinop_chain_outflow_limit: 'The most that may leave in a day.',
    coinop_day_closed_timestamp_seconds: 'The end of the last UTC day whose points are closed.',
    coinop_epoch_unfinished_seconds: 'How long the oldest epoch has been computing, or computed without its root on the chain.',
    coinop_rounds: 'Rounds by state.',
    coinop_round_overdue_seconds: 'How far the latest round is behind: active, its end; closing, its commitment; committed, its beacon.',
    coinop_round_schedule_overdue_seconds: 'How far the schedule of rounds is behind.',
  },
  async read(app) {
    const published = (await readTail(app.redis, eventStreamKey(app.config)).catch(() => null))?.publication ?? null;
    const samples: Sample[] = [];
    // One after the other: requests need the connections.
    const asked = [
      { statement: events, values: [published ?? Number.MAX_SAFE_INTEGER] },
      { statement: pauses, values: [['payouts']] },
      ...[activities, deliveries, transactions, payments, days, rounds].map((one) => ({ statement: one, values: [] })),
    ];
    for (const { statement, values } of asked) samples.push(...(await app.db.query(statement, values)).flatMap(samplesOf));
    return [...samples, ...(await readOutflows(app))];
  },
};

const samplesOf = ({ values, labels }: Row): Sample[] =>
  Object.entries(values).flatMap(([name, value]) => (value === null ? [] : { name: `coinop_${name}`, value, ...(labels ? { labels } : {}) }));

/** Assets by their names: mints differ from cluster to cluster. */
async function readOutflows({ config, db }: App): Promise<Sample[]> {
  const { rewardMint, usdcMint, dailyLimits, tokenAccounts } = config.chain;
  const assets = [
    { name: 'sol', asset: 'sol', limit: dailyLimits.sol },
    { name: 'token_accounts', asset: 'token-accounts', limit: tokenAccounts.dailyBudget },
    ...(rewardMint ? [{ name: 'reward', asset: rewardMint, limit: dailyLimits.reward }] : []),
    ...(usdcMint ? [{ name: 'usdc', asset: usdcMint, limit: dailyLimits.usdc }] : []),
  ];
  const rows = await db.query(outflows, [assets.map(({ asset }) => asset)]);
  const reserved = new Map(rows.map((row) => [row.asset, row.reserved]));
  return assets.flatMap(({ name, asset, limit }) => [
    { name: 'coinop_chain_outflow', labels: { asset: name }, value: reserved.get(asset) ?? 0 },
    { name: 'coinop_chain_outflow_limit', labels: { asset: name }, value: Number(limit) },
  ]);
}
