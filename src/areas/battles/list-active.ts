import type { z } from 'zod';
import type { Game } from '#areas/arcade';
import type { App } from '#platform/app.ts';
import { listActive } from './rows.ts';
import { type BattleView, presentBattle } from './schemas.ts';

/** Reads the newest open and running battles of a game as a response, and the number of all of them. */
export async function listActiveBattles(app: App, game: Game, limit: number): Promise<{ battles: z.input<typeof BattleView>[]; total: number }> {
  const { battles, total } = await listActive(app.db, game.id, limit, 0);
  return { battles: battles.map((battle) => presentBattle(battle, game)), total };
}
