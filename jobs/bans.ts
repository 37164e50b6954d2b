import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';
import { job } from './job.ts';

/** Takes back every accepted score of a banned wallet. */
export const voidBanned = job({
  name: 'void-banned',
  queue: 'points',
  payload: z.strictObject({ wallet: Wallet }),
  id: ({ wallet }) => `void-banned-${wallet}`,
});

/** Rings voidBanned again for bans whose scores are not all taken back. */
export const sweepBans = job({ name: 'sweep-bans', queue: 'upkeep', payload: z.strictObject({}), everyMs: 15_000, id: () => 'sweep-bans' });
