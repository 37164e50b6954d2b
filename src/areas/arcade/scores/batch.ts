import type { Submission } from '../../../../jobs/scores.ts';
import type { App } from '../../../context.ts';
import { judgeHeartbeats } from '../judge-heartbeats.ts';
import { forgetGames, loadGames } from '../registry.ts';
import { type Evidence, recordBatch } from './record.ts';
import { respond } from './respond.ts';
import { readPlays } from './rows.ts';
import type { ScoreOutcome } from './schema.ts';

/** Records a batch of submissions, shows it on the boards, and tells what each of them is answered with. */
export async function processScores(app: App, submissions: readonly Submission[]): Promise<{ id: string; outcome: ScoreOutcome }[]> {
  return await respond(app, await recordBatch(app, submissions, await gatherEvidence(app, submissions)));
}

async function gatherEvidence(app: App, submissions: readonly Submission[]): Promise<Evidence> {
  const games = await gamesOf(app, submissions);
  const plays = await readPlays(
    app.db,
    submissions.flatMap((s) => s.playId ?? []),
  );
  const beating = submissions.flatMap((s) => {
    const play = plays.get(s.playId ?? '');
    if (!play || games.get(play.gameId)?.verification !== 'heartbeat') return [];
    return [{ playId: play.id, startedAt: play.startedAt, endedAt: new Date(s.at) }];
  });
  const verdicts = await judgeHeartbeats(app, beating);
  const heartbeats = new Map(beating.flatMap((play, i) => (verdicts[i] ? [[play.playId, verdicts[i]] as const] : [])));
  return { games, plays, heartbeats };
}

/** The registry; read anew for a game that it does not hold yet, so that a game may be played from the moment it is registered. */
async function gamesOf(app: App, submissions: readonly Submission[]): ReturnType<typeof loadGames> {
  const games = await loadGames(app);
  if (submissions.every((s) => games.has(s.gameId))) return games;
  forgetGames(app);
  return await loadGames(app);
}
