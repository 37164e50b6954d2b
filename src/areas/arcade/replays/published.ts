import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { build } from '../build.ts';
import type { ReplayView } from './schemas.ts';
import { describeSimulation } from './simulations.ts';

const selectReplay = (scoreId: string) =>
  build
    .selectFrom('score_replays as r')
    .innerJoin('play_seeds as p', 'p.play_id', 'r.play_id')
    .innerJoin('scores as s', 's.id', 'r.score_id')
    .select(['r.play_id as playId', 'r.log', 'p.seed', 'p.simulation', 's.wallet', 's.game_id as gameId', 's.score'])
    .where('r.score_id', '=', scoreId);

/** Returns the replay of a score; null when the score has none. */
export async function readReplay(app: App, scoreId: string): Promise<ReplayView | null> {
  const row = (await run(app.db, selectReplay(scoreId)))[0];
  if (!row) return null;
  const { playId, wallet, gameId, score, seed, log, simulation } = row;
  return {
    scoreId,
    playId,
    wallet,
    gameId,
    score: Number(score),
    simulation: await describeSimulation(app, simulation.toString('hex')),
    seed: seed.toString('hex'),
    log: log.toString('base64'),
  };
}

/** A row of `replay_refusals`. */
export interface RefusalCount {
  wallet: string;
  gameId: string;
  day: number;
  count: number;
  reason: string;
}

/** Reads a page of the counts of refused replays: latest day first, then the most refusals. @param wallet only this wallet; undefined = all wallets */
export async function listRefusals(
  app: App,
  { wallet, limit, offset }: { wallet?: string | undefined; limit: number; offset: number },
): Promise<{ rows: RefusalCount[]; total: number }> {
  const chosen = build.selectFrom('replay_refusals').$if(wallet !== undefined, (query) => query.where('wallet', '=', wallet ?? ''));
  const [rows, counts] = await Promise.all([
    run(
      app.db,
      chosen
        .select(['wallet', 'game_id as gameId', 'day', 'count', 'reason'])
        .orderBy('day', 'desc')
        .orderBy('count', 'desc')
        .orderBy('wallet')
        .limit(limit)
        .offset(offset),
    ),
    run(
      app.db,
      chosen.select(({ fn }) => fn.countAll<string>().as('total')),
    ),
  ]);
  return { rows, total: Number(counts[0]?.total ?? 0) };
}
