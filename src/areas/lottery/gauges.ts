import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ageSeconds, type GaugeRow, MAX_COUNTED, readSamples } from '#platform/observability/metrics/sql-gauges.ts';

// Measures the delay of a round since its closing time (state `active`), since the time at which it was closed (state `closing`), or since the time
// at which the randomness beacon should have published the value for its draw (state `committed`).
const openRounds = statement<GaugeRow>(
  'metrics_rounds',
  `select jsonb_build_object('rounds', count(r.id)::float8, 'round_overdue_seconds', greatest(0, coalesce(max(${ageSeconds(
    `case r.state when 'active' then r.closes_at when 'closing' then r.closed_at else r.beacon_due_at end`,
  )}), 0))) as values, jsonb_build_object('state', k.state) as labels
   from (values ('active'), ('closing'), ('committed')) as k(state)
   left join lateral (
     select id, state, closes_at, closed_at, beacon_due_at from rounds
     where state in ('active', 'closing', 'committed') and state = k.state order by closes_at limit ${MAX_COUNTED}) r on true
   group by k.state
   union all
   select jsonb_build_object('round_schedule_overdue_seconds', greatest(0, coalesce((select ${ageSeconds('next_at')} from round_schedule), 0))), null`,
);

/** Gauges of open rounds and of their delay. */
export const roundGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_rounds: `Open rounds by state, up to ${MAX_COUNTED} each.`,
    coinop_round_overdue_seconds:
      'Delay of the most delayed round, by state: since its closing time (active), its close (closing) or the beacon’s due time (committed).',
    coinop_round_schedule_overdue_seconds: 'Delay of the schedule of chat rounds; 0 when it is on time.',
  },
  read: (app) => readSamples(app, openRounds),
};
