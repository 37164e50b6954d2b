import { advanceBattles as advance } from '#areas/battles';
import { endBurnEvents, watchBurns as watch } from '#areas/burns';
import { sweepClips as sweep } from '#areas/clips';
import type { advanceBattles as battlesJob, watchBurns as burnsJob, sweepClips as clipsJob } from '#jobs/arcade.ts';
import type { Handler } from './handler.ts';

/** Battles whose time has come. */
export const advanceBattles: Handler<typeof battlesJob> = async (app) => await advance(app);

/** What the chain has of burns; events end by the clock, also while the chain does not answer. */
export const watchBurns: Handler<typeof burnsJob> = async (app) => {
  await endBurnEvents(app);
  await watch(app);
};

/** Media that no clip names. */
export const sweepClips: Handler<typeof clipsJob> = async (app) => await sweep(app);
