import { voidBannedScores } from '#areas/arcade';
import { endSessions } from '#areas/auth';
import type { voidBanned as job } from '#jobs/bans.ts';
import type { Handler } from './handler.ts';

/** Ends the sessions of a banned wallet and takes its scores back, wherever the request that banned it was cut off. */
export const voidBanned: Handler<typeof job> = async (app, { wallet }) => {
  await endSessions(app, wallet);
  await voidBannedScores(app, wallet);
};
