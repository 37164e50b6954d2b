import type { Consumer } from '../points/points.ts';

/** Takes quests further by what wallets did. */
export const questConsumer: Consumer = { name: 'quests', bit: 2, consume: async () => {} };
