import type { recordScores as job, Submission } from '../jobs/scores.ts';
import { forgetGames, judgeHeartbeats, loadGames } from '../src/areas/arcade/arcade.ts';
import { type Evidence, recordBatch } from '../src/areas/arcade/scores/record.ts';
import { respond } from '../src/areas/arcade/scores/respond.ts';
import { readPlays } from '../src/areas/arcade/scores/rows.ts';
import type { App } from '../src/context.ts';
import { batching } from '../src/lib/batching.ts';
import { type Answer, answer } from '../src/replies.ts';
import type { Handler } from './handler.ts';

interface Asked {
  channel: string;
  submission: Submission;
}

/** Scores of all running jobs that go into one transaction, and transactions at once. */
const BATCHES = { most: 500, flights: Number(process.env.F2 ?? 3) };

const recorders = new WeakMap<App, (asked: Asked) => Promise<void>>();

/** Scores of the jobs that run while a transaction is under way become the next one. */
function recorder(app: App): (asked: Asked) => Promise<void> {
  let record = recorders.get(app);
  if (!record) {
    record = batching((batch) => commit(app, batch), BATCHES);
    recorders.set(app, record);
  }
  return record;
}

async function commit(app: App, batch: readonly Asked[]): Promise<void> {
  const submissions = batch.map((asked) => asked.submission);
  const recorded = await recordBatch(app, submissions, await gatherEvidence(app, submissions));
  const outcomes = await respond(app, recorded);
  const byChannel = new Map<string, Answer[]>();
  outcomes.forEach((outcome, i) => {
    const channel = batch[i]?.channel ?? '';
    byChannel.set(channel, [...(byChannel.get(channel) ?? []), outcome]);
  });
  await answer(app.redis, byChannel);
}

/** The registry; read anew for a game that it does not hold yet, so that a game may be played from the moment it is registered. */
async function gamesOf(app: App, submissions: readonly Submission[]): ReturnType<typeof loadGames> {
  const games = await loadGames(app);
  if (submissions.every((s) => games.has(s.gameId))) return games;
  forgetGames(app);
  return await loadGames(app);
}

async function gatherEvidence(app: App, submissions: readonly Submission[]): Promise<Evidence> {
  const games = await gamesOf(app, submissions);
  const plays = await readPlays(
    app.db,
    submissions.flatMap((s) => s.playId ?? []),
  );
  const endedAt = app.clock.now();
  const beating = [...plays.values()].filter((play) => games.get(play.gameId)?.verification === 'heartbeat');
  const verdicts = await judgeHeartbeats(
    app,
    beating.map((play) => ({ playId: play.id, startedAt: play.startedAt, endedAt })),
  );
  const heartbeats = new Map(beating.flatMap((play, i) => (verdicts[i] ? [[play.id, verdicts[i]] as const] : [])));
  return { games, plays, heartbeats };
}

/** Records a job's scores together with those of other running jobs; answers whoever waits. */
export const recordScores: Handler<typeof job> = async (app, { channel, submissions }) => {
  const record = recorder(app);
  await Promise.all(submissions.map((submission) => record({ channel, submission })));
};
