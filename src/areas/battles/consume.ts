import type { Consumer } from '../points/points.ts';

/** Counts scores for the battles that they name. */
export const battleConsumer: Consumer = { name: 'battles', bit: 4, consume: async () => [] };
