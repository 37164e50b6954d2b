import type { sweepBans as job } from '../jobs/bans.ts';
import { sweepUnfinishedBans } from '../src/areas/arcade/arcade.ts';
import type { Handler } from './handler.ts';

export const sweepBans: Handler<typeof job> = (app) => sweepUnfinishedBans(app);
