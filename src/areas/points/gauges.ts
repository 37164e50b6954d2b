import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ageSeconds, countRows, type GaugeRow, MAX_COUNTED, readSamples } from '#platform/observability/metrics/sql-gauges.ts';

const activities = statement<GaugeRow>(
  'metrics_activities',
  `select jsonb_build_object(
     'activities_oldest_pending_seconds', coalesce((select ${ageSeconds('at')} from activity_batches order by id limit 1), 0),
     'activities_failed', ${countRows('activity_failures')}) as values`,
);
const closedDay = statement<GaugeRow>(
  'metrics_closed_day',
  `select jsonb_build_object('day_closed_timestamp_seconds', (max(bucket) + 1) * 86400::float8) as values from closed_periods where period = 'day'`,
);

/** Reads the backlog of activities and the last closed day. */
export const pointsGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_activities_oldest_pending_seconds:
      'Age of the oldest activity that a consumer (quests, referrals, battles) has not processed; 0 when none is pending.',
    coinop_activities_failed: `Activities that a consumer could not process, up to ${MAX_COUNTED}. An operator must decide about them.`,
    coinop_day_closed_timestamp_seconds: 'End of the last UTC day whose points are closed, seconds since 1970.',
  },
  read: async (app) => [...(await readSamples(app, activities)), ...(await readSamples(app, closedDay))],
};
