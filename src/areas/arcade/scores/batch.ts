import type { Submission } from '#jobs/scores.ts';
import type { App } from '#platform/app.ts';
import { invalidateGames, loadGames } from '../games/registry.ts';
import type { ReplayEvidence } from '../replays/evidence.ts';
import type { AdmitScores } from './activities.ts';
import { recordBatch } from './record.ts';
import { respond } from './respond.ts';
import { readTops } from './review.ts';
import type { ScoreOutcome } from './schemas.ts';

/**
 * Records a batch of submissions and copies the changed standings to the boards in Redis.
 * @param admit function that checks the battles that submissions name; by default, no submission is refused
 * @param replays the evidence of the submissions with replays, by submission id
 * @returns the outcome of each submission
 */
export async function processScores(
  app: App,
  submissions: readonly Submission[],
  admit: AdmitScores = async () => new Map(),
  replays: ReadonlyMap<string, ReplayEvidence> = new Map(),
): Promise<{ id: string; outcome: ScoreOutcome }[]> {
  const [games, inadmissible] = await Promise.all([gamesOf(app, submissions), admit(app, submissions)]);
  const named = [...new Set(submissions.map(({ gameId }) => gameId))].flatMap((id) => games.get(id) ?? []);
  return await respond(app, await recordBatch(app, submissions, { games, inadmissible, replays, tops: await readTops(app, named) }));
}

/**
 * Returns the registry of games. Reloads it if the game of a submission is missing, so that scores are accepted as soon as the game is registered.
 */
async function gamesOf(app: App, submissions: readonly Submission[]): ReturnType<typeof loadGames> {
  const games = await loadGames(app);
  if (submissions.every((s) => games.has(s.gameId))) return games;
  invalidateGames(app);
  return await loadGames(app);
}
