import type { voidBanned as job } from '../jobs/bans.ts';
import { voidBannedScores } from '../src/areas/arcade/arcade.ts';
import type { Handler } from './handler.ts';

export const voidBanned: Handler<typeof job> = (app, { wallet }) => voidBannedScores(app, wallet);
