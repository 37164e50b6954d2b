import { defineEntity } from '@mikro-orm/core';
import { bigint, checks, index, numeric, text, timestamp, trigger, uuid, wallet } from '#platform/db/columns.ts';

/** A row is a conversion of all beta points of a wallet into regular points. Rows are never changed or deleted. */
export const BetaConversionsTable = defineEntity({
  name: 'BetaConversions',
  tableName: 'beta_conversions',
  properties: {
    id: uuid().primary(),
    wallet: wallet(),
    /** Regular points per beta point. */
    rate: numeric('numeric(10,6)'),
    betaPoints: bigint(),
    /** The resulting regular points: `betaPoints` × `rate`, rounded down. */
    points: bigint(),
    /** Name of the admin token of the operator who converted the points. */
    convertedBy: text(),
    at: timestamp(),
  },
  checks: checks(
    'beta_points > 0',
    '(points)::numeric = floor(((beta_points)::numeric * rate))',
    'points > 0',
    '(rate > (0)::numeric) and (rate <= (1000)::numeric)',
  ),
  indexes: [index('create index beta_conversions_wallet on beta_conversions (wallet, at desc)')],
  triggers: [
    trigger('create trigger beta_conversions_append_only before delete or update on beta_conversions for each row execute function refuse_change()'),
    trigger('create trigger beta_conversions_no_truncate before truncate on beta_conversions for each statement execute function refuse_change()'),
  ],
});

/** Tables of this area. */
export const profileTables = [BetaConversionsTable] as const;
