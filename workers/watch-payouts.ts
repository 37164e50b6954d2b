import { rememberBalances } from '#areas/lottery/treasury-gauges.ts';
import { runWatch } from '#areas/payouts';
import type { watchPayouts as job } from '#jobs/payouts.ts';
import type { Handler } from './handler.ts';

/** Stops payouts where the record and the chain do not fit, and lets them go on where they do. */
export const watchPayouts: Handler<typeof job> = async (app) => {
  // Balances are for operators; payouts need them for nothing.
  const remembered = rememberBalances(app).catch((err: unknown) => app.log.debug({ err }, 'balances cannot be read'));
  await Promise.all([runWatch(app), remembered]);
};
