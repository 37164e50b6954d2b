import { sweepUnfinishedBans } from '#areas/arcade';
import type { sweepBans as job } from '#jobs/bans.ts';
import type { Handler } from './handler.ts';

export const sweepBans: Handler<typeof job> = (app) => sweepUnfinishedBans(app);
