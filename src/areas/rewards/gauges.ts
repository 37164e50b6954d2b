import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ageSeconds, type GaugeRow, readSamples } from '#platform/observability/metrics/sql-gauges.ts';

const unfinishedEpochs = statement<GaugeRow>(
  'metrics_epochs',
  `select jsonb_build_object('epoch_unfinished_seconds', coalesce((select ${ageSeconds(`case k.state when 'computed' then computed_at else created_at end`)}
     from epochs e where e.state = k.state order by epoch limit 1), 0)) as values, jsonb_build_object('state', k.state) as labels
   from (values ('computing'), ('computed')) as k(state)`,
);

/** Reads the waiting times of the oldest epoch that is being computed and of the oldest computed epoch whose root is not on the chain. */
export const epochGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_epoch_unfinished_seconds:
      'Time for which the oldest epoch has been in the state computing, or computed without its root on the chain, seconds; 0 when no epoch is in the state.',
  },
  read: (app) => readSamples(app, unfinishedEpochs),
};
