import { sql } from 'kysely';
import type { Mode } from '#areas/points';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';
import { type Award, presentPoints } from './award.ts';
import type { ScoreDetail, ScoreStatus } from './schemas.ts';

/** The fields of a score that a decision needs. */
export interface ScoreToDecide {
  id: string;
  wallet: string;
  gameId: string;
  status: ScoreStatus;
  normalized: number;
  points: number;
  noPointsReason: Award['noPointsReason'];
  personalBest: boolean;
  mode: Mode;
  battleId: string | null;
  day: number;
  /** Whether the score's points count for reward epochs; false when the score has no points. */
  rewards: boolean;
  /** Whether a void of the score was undone before. */
  restored: boolean;
  /** The wallet's all-time best score in the game at the time of this read. */
  best: number;
}

const COLUMNS = `s.id, s.wallet, s.game_id as "gameId", s.status, s.normalized, s.points, s.no_points_reason as "noPointsReason", s.personal_best as "personalBest", s.mode, s.battle_id as "battleId", s.day,
  coalesce((select rewards from ledger l where l.source_id = s.id::text and l.source = 'score' and l.wallet = s.wallet and l.reason = 'score' and l.mode = s.mode
    and l.cause_day = cause_day('score', s.id::text)), false) as rewards,
  exists (select from score_restorations r where r.score_id = s.id) as restored,
  coalesce((select total from standings b where b.board = 'game:' || s.game_id and b.mode = s.mode and b.wallet = s.wallet), 0)::float8 as best`;
const select = statement<ScoreToDecide>('select_scores_to_decide', `select ${COLUMNS} from scores s where s.id = any($1::uuid[]) order by s.id`);
const lock = statement<ScoreToDecide>(
  'lock_scores_to_decide',
  `select ${COLUMNS} from scores s where s.id = any($1::uuid[]) order by s.id for update of s`,
);

/**
 * Reads scores by id. If `how` is `locked`, also locks them. Precondition for `locked`: the caller has locked the wallet, because every writer locks
 * a wallet before its scores.
 */
export async function lockScores(tx: Tx, ids: readonly string[], how: 'locked' | 'unlocked' = 'locked'): Promise<ScoreToDecide[]> {
  return await tx.query(how === 'locked' ? lock : select, [ids]);
}

/** Builds the selection of scores with the details that moderators see. */
export const detail = build
  .selectFrom('scores')
  .select(['id as scoreId', 'wallet', 'game_id as gameId', 'status', sql<number>`score::float8`.as('score'), 'normalized as normalizedScore'])
  .select([
    'points',
    'no_points_reason as noPointsReason',
    'mode',
    'play_id as playId',
    'duration_ms as durationMs',
    'reasons',
    isoInstant('at').as('submittedAt'),
  ])
  .select([isoInstant<string | null>('decided_at').as('decidedAt'), 'decided_by as decidedBy']);

/** Reads the scores of a query with the points that they give in their present state. */
export const readDetails = async (db: Queryable, query: typeof detail): Promise<ScoreDetail[]> =>
  (await run(db, query)).map(({ points, noPointsReason, ...score }) => ({
    ...score,
    ...presentPoints({ status: score.status, points, noPointsReason }),
  }));

/** Reads a score with the details that moderators see; undefined when the score does not exist. */
export async function readScore(db: Queryable, scoreId: string): Promise<ScoreDetail | undefined> {
  return (await readDetails(db, detail.where('id', '=', scoreId)))[0];
}
