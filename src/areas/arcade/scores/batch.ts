import type { Submission } from '#jobs/scores.ts';
import type { App } from '#platform/app.ts';
import { forgetGames, loadGames } from '../registry.ts';
import type { Admit } from './battles.ts';
import { recordBatch } from './record.ts';
import { respond } from './respond.ts';
import type { ScoreOutcome } from './schemas.ts';

/**
 * Records a batch of submissions, shows it on the boards, and tells what each of them is answered with.
 * @param admit knows of battles; without it none is refused for the battle that it names
 */
export async function processScores(
  app: App,
  submissions: readonly Submission[],
  admit: Admit = async () => new Map(),
): Promise<{ id: string; outcome: ScoreOutcome }[]> {
  const [games, inadmissible] = await Promise.all([gamesOf(app, submissions), admit(app, submissions)]);
  return await respond(app, await recordBatch(app, submissions, games, inadmissible));
}

/** The registry; read anew for a game that it does not hold yet, so that a game may be played from the moment it is registered. */
async function gamesOf(app: App, submissions: readonly Submission[]): ReturnType<typeof loadGames> {
  const games = await loadGames(app);
  if (submissions.every((s) => games.has(s.gameId))) return games;
  forgetGames(app);
  return await loadGames(app);
}
