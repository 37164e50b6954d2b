import type { Queryable } from '../../db/sql.ts';
import type { Currency } from '../payouts/payouts.ts';

/** What the treasury holds for open rounds: prizes of chat rounds that were begun, tickets of legacy rounds; base units. */
export async function reserved(_db: Queryable, _currency: Currency): Promise<bigint> {
  throw new Error('to be built');
}
