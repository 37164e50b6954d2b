import type { Submission } from '#jobs/scores.ts';
import type { ReplayRefusal } from '#lib/replay/run.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { build } from '../build.ts';
import { runInThread } from './replay-threads.ts';
import type { ReplayOutcome } from './replayer.ts';
import { loadSimulation, type StoredSimulation } from './simulations.ts';

/** The result of the replay of a submission. `refused` and `held`: the reason why there is no score. */
export type ReplayEvidence =
  | { readonly score: number; readonly ticks: number; readonly ticksPerSecond: number; readonly log: Buffer }
  | { readonly refused: string }
  | { readonly held: string; readonly log: Buffer };

const REFUSALS: Readonly<Record<ReplayRefusal, string>> = {
  too_many_ticks: 'replay must not have more ticks than the game allows',
  continues_after_end: 'replay must end when the game ends',
  too_many_instructions: 'replay must not execute more instructions than the game allows',
  trap: 'replay must not make the simulation fail',
  invalid_score: 'replay must end with a score from 0 to 2^53 − 1',
};

/** The seed and the simulation of a play. */
interface PlaySeed {
  readonly simulation: string;
  readonly seed: Buffer;
}

/**
 * Runs the replays of submissions in worker threads. A long replay delays only its own submission.
 * @returns a promise per submission whose play has a seed and no score, by submission id; it rejects when the thread fails, so that the caller retries
 */
export async function runReplays(app: App, submissions: readonly Submission[]): Promise<ReadonlyMap<string, Promise<ReplayEvidence>>> {
  const named = submissions.flatMap((s) => (s.playId !== null && s.replay !== null ? [{ ...s, playId: s.playId, replay: s.replay }] : []));
  if (named.length === 0) return new Map();
  const seeds = await readSeeds(
    app,
    named.map(({ playId }) => playId),
  );
  return new Map(
    named.flatMap(({ id, wallet, playId, replay }) => {
      const seed = seeds.get(playId);
      return seed ? [[id, runReplay(app, wallet, seed, Buffer.from(replay, 'base64'))] as const] : [];
    }),
  );
}

/** Reads the seeds of the plays that have no score yet. The answer to a repeated submission needs no replay. */
async function readSeeds(app: App, playIds: readonly string[]): Promise<ReadonlyMap<string, PlaySeed>> {
  const rows = await run(
    app.db,
    build
      .selectFrom('play_seeds as p')
      .select(['p.play_id', 'p.simulation', 'p.seed'])
      .where('p.play_id', 'in', playIds)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('score_plays as s').select('s.play_id').whereRef('s.play_id', '=', 'p.play_id'))),
      ),
  );
  return new Map(rows.map(({ play_id, simulation, seed }) => [play_id, { simulation: simulation.toString('hex'), seed }]));
}

async function runReplay(app: App, wallet: string, { simulation, seed }: PlaySeed, log: Buffer): Promise<ReplayEvidence> {
  const stored = await loadSimulation(app, simulation);
  if (!stored) throw new Error('the simulation of a play is missing');
  const { maxTicks, instructionsPerTick } = stored;
  return present(await runInThread(app, { wallet, simulation, seed, log, limits: { maxTicks, instructionsPerTick } }), stored, log);
}

function present(outcome: ReplayOutcome, { ticksPerSecond }: StoredSimulation, log: Buffer): ReplayEvidence {
  if ('result' in outcome) return { score: outcome.result.score, ticks: outcome.result.ticks, ticksPerSecond, log };
  if ('refusal' in outcome) return { refused: REFUSALS[outcome.refusal] };
  if ('malformed' in outcome) return { refused: `replay must be an input log: ${outcome.malformed}` };
  return { held: `the replay cannot be computed on this machine: ${outcome.exhausted}`, log };
}
