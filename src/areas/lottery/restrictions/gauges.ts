import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ageSeconds, type GaugeRow, readSamples } from '#platform/observability/metrics/sql-gauges.ts';

const denyList = statement<GaugeRow>(
  'metrics_deny_list',
  `select jsonb_build_object('deny_list_loaded', count(*)::float8, 'deny_list_age_seconds', max(${ageSeconds('loaded_at')}),
     'deny_list_wallets', (select count(*)::float8 from denied_wallets)) as values
   from deny_list`,
);

/** Gauges of the deny list; none when no deny list is configured. */
export const denyListGauges: GaugeReader = {
  cacheMs: 15_000,
  gauges: {
    coinop_deny_list_loaded: '1 when a deny list is stored; 0 while the configured list was never loaded, so that paid tickets are refused.',
    coinop_deny_list_age_seconds: 'Time since the deny list was last loaded successfully.',
    coinop_deny_list_wallets: 'Wallets on the deny list.',
  },
  read: (app) => (app.config.restrictions.denyList === null ? [] : readSamples(app, denyList)),
};
