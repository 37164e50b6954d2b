import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { ageSeconds, type GaugeRow, readSamples } from '#platform/observability/metrics/sql-gauges.ts';
import { checkDistributor } from '#platform/solana/distributor/index.ts';

/** SQL condition: whether the root of the computed epoch `e` waits for the end of its review. */
const IN_REVIEW = `coalesce(e.review_ends_at > (select app_now()), false)`;

const unfinishedEpochs = statement<GaugeRow>(
  'metrics_epochs',
  `select jsonb_build_object('epoch_unfinished_seconds', coalesce((
     select max(${ageSeconds(`case k.state when 'computed' then greatest(computed_at, review_ends_at) else created_at end`)})
     from epochs e where e.state = k.state and not (k.state = 'computed' and ${IN_REVIEW})), 0)) as values, jsonb_build_object('state', k.state) as labels
   from (values ('computing'), ('computed')) as k(state)`,
);
const reviews = statement<GaugeRow>(
  'metrics_epoch_reviews',
  `select jsonb_build_object('epochs_in_review', count(*) filter (where e.state = 'computed' and ${IN_REVIEW}),
     'allocation_pending_seconds', coalesce(max(${ageSeconds('e.exclusions_changed_at')}), 0)) as values
   from epochs e where e.state in ('computed', 'empty')`,
);

/** Reads whether the distributor program has a problem. The samples share the check that claims and roots use. */
export const distributorGauges: GaugeReader = {
  cacheMs: 15_000,
  gauges: {
    coinop_distributor_problem:
      '1 while no epoch is opened because the deployed distributor program has other bytes or an unexpected upgrade authority, otherwise 0.',
  },
  read: async (app) =>
    app.config.chain.programId === null
      ? []
      : [{ name: 'coinop_distributor_problem', value: (await checkDistributor(app)).problem === null ? 0 : 1 }],
};

/** Reads how long epochs have waited for their leaves, for their root on the chain or for a new allocation, and how many are in review. */
export const epochGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_epoch_unfinished_seconds:
      'Longest time for which an epoch has been in the state computing, or computed without its root on the chain after its review, seconds; 0 when no epoch is in the state.',
    coinop_epochs_in_review: 'Number of computed epochs whose root waits for the end of the review.',
    coinop_allocation_pending_seconds:
      'Longest time for which the exclusions of an epoch have changes that its allocation does not include, seconds; 0 when there are none.',
  },
  read: async (app) => [...(await readSamples(app, unfinishedEpochs)), ...(await readSamples(app, reviews))],
};
