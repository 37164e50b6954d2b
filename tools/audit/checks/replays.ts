import { readInputLog } from '#lib/replay/input-log.ts';
import { runReplay } from '#lib/replay/run.ts';
import { type AuditContext, type Check, DifferenceList, type Differences, databaseCheck, isOpenId } from '../check.ts';

/** A replay and all that is needed to compute its score again. */
interface StoredReplay {
  readonly score_id: string;
  readonly score: number;
  readonly log: Buffer;
  readonly seed: Buffer;
  readonly simulation: string;
}

interface StoredSimulation {
  readonly module: Buffer;
  readonly max_ticks: number;
  readonly instructions_per_tick: number;
  readonly is_hashed: boolean;
}

/** Computes the scores of the newest replays again. */
async function compareScores({ db, scope }: AuditContext): Promise<Differences> {
  const found = new DifferenceList();
  const modules = new Map<string, StoredSimulation & { compiled: WebAssembly.Module }>();
  const limit = scope.all ? '' : `limit ${Math.trunc(scope.sample)}`;
  const replays = await db.query<StoredReplay>({
    text: `select r.score_id, s.score::float8 as score, r.log, p.seed, encode(p.simulation, 'hex') as simulation
           from score_replays r join scores s on s.id = r.score_id join play_seeds p on p.play_id = r.play_id
           where s.status in ('accepted', 'voided') and not exists (select from unnest(s.reasons) reason where reason like 'the replay cannot be computed%')
           order by r.at desc, r.score_id ${limit}`,
  });
  for (const replay of replays) {
    let simulation = modules.get(replay.simulation);
    if (!simulation) {
      const text = `select module, max_ticks, instructions_per_tick, sha256(module) = hash as is_hashed from simulations where hash = decode($1, 'hex')`;
      const [row] = await db.query<StoredSimulation>({ text }, [replay.simulation]);
      if (!row?.is_hashed) {
        found.add(`score ${replay.score_id}: the bytes of the simulation ${replay.simulation} do not have this hash`);
        continue;
      }
      simulation = { ...row, compiled: new WebAssembly.Module(new Uint8Array(row.module)) };
      modules.set(replay.simulation, simulation);
    }
    const limits = { maxTicks: simulation.max_ticks, instructionsPerTick: simulation.instructions_per_tick };
    const verdict = runReplay(simulation.compiled, replay.seed, readInputLog(replay.log), limits);
    const score = 'result' in verdict ? verdict.result.score : verdict.refusal;
    if (score !== replay.score) found.add(`score ${replay.score_id} is ${replay.score}, but its replay gives ${score}`);
  }
  return found;
}

/** Checks of scores that are verified by replay. */
export const replayChecks: readonly Check[] = [
  {
    name: 'replays',
    invariant: 'the replays of the newest scores give these scores again',
    live: true,
    run: compareScores,
  },
  databaseCheck(
    'kept-replays',
    'each personal best in a game that verified it by replay has its replay',
    `select format('score %s of %s has no replay', s.id, s.wallet) as what
     from scores s join play_seeds p on p.play_id = s.play_id left join score_replays r on r.score_id = s.id
     where s.personal_best and ${isOpenId('s.id')} and r.score_id is null`,
  ),
];
