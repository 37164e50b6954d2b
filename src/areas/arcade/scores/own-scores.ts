import { z } from 'zod';
import { isBanned } from '#areas/points';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { type Award, presentPoints } from './award.ts';
import { publicReason } from './public-reasons.ts';
import { ScoreDetail, type ScoreStatus } from './schemas.ts';

/** A score as its wallet sees it. Its reason is in plain words, without the thresholds of the rules. */
export const ScoreView = ScoreDetail.omit({ reasons: true, decidedBy: true })
  .extend({
    personalBest: z.boolean().meta({ description: 'Whether the score was the wallet’s best in the game when it was accepted.' }),
    reason: z.string().nullable().meta({
      description: 'Why the score is held, rejected or voided; null for an accepted score. `POST /me/appeals` answers the decision.',
      example: null,
    }),
    battleId: ScoreDetail.shape.playId.meta({ description: 'The battle that the score names; null without one.' }),
  })
  .meta({ id: 'Score' });
export type ScoreView = z.infer<typeof ScoreView>;

interface Row {
  scoreId: string;
  wallet: string;
  gameId: string;
  status: ScoreStatus;
  score: number;
  normalizedScore: number;
  points: number;
  noPointsReason: Award['noPointsReason'];
  personalBest: boolean;
  mode: 'regular' | 'beta';
  playId: string | null;
  battleId: string | null;
  durationMs: number | null;
  submittedAt: string;
  decidedAt: string | null;
  reasons: string[];
}

const COLUMNS = `s.id::text as "scoreId", s.wallet, s.game_id as "gameId", s.status, s.score::float8 as score, s.normalized as "normalizedScore", s.points,
  s.no_points_reason as "noPointsReason", s.personal_best as "personalBest", s.mode, s.play_id::text as "playId", s.battle_id::text as "battleId",
  s.duration_ms as "durationMs", ${instant('s.at')} as "submittedAt", ${instant('s.decided_at')} as "decidedAt",
  s.reasons`;

// Reads the ids of all scores of the wallet from the index alone, and the rows of the page only. Later ids sort after earlier ids.
const selectPage = statement<{ total: number } & (Row | { scoreId: null })>(
  'select_own_scores',
  `with own as materialized (select id from scores where wallet = $1 and ($2::text is null or game_id = $2::text))
   select n.total, p.* from (select count(*)::int as total from own) n
   left join lateral (
     select ${COLUMNS} from (select id from own order by id desc limit $3 offset $4) k join scores s on s.id = k.id) p on true
   order by p."scoreId" desc`,
);
const selectVisible = statement<Row>(
  'select_visible_score',
  `select ${COLUMNS} from scores s
   where s.id = $1 and (s.wallet = $2 or (s.status = 'accepted' and s.mode = 'regular' and not ${isBanned('s.wallet')}))`,
);

const present = ({ points, noPointsReason, reasons, ...score }: Row): ScoreView => ({
  ...score,
  reason: publicReason({ status: score.status, reasons, decided: score.decidedAt !== null }),
  ...presentPoints({ status: score.status, points, noPointsReason }),
});

/** Reads a page of a wallet's scores, newest first, and the number of all of them. @param gameId only scores of this game; undefined = all games */
export async function listOwnScores(
  db: Queryable,
  wallet: string,
  { gameId, limit, offset }: { gameId?: string | undefined; limit: number; offset: number },
): Promise<{ scores: ScoreView[]; total: number }> {
  const rows = await db.query(selectPage, [wallet, gameId ?? null, limit, offset]);
  const scores = rows.flatMap(({ total: _total, ...row }) => (row.scoreId === null ? [] : [present(row)]));
  return { scores, total: rows[0]?.total ?? 0 };
}

/**
 * Reads a score that a caller may see: its own score, or an accepted score in regular mode of a wallet that is not banned, which boards show to everybody. Undefined for any other
 * score.
 * @param caller the wallet of the session; null without a session
 */
export async function readVisibleScore(db: Queryable, scoreId: string, caller: string | null): Promise<ScoreView | undefined> {
  const row = (await db.query(selectVisible, [scoreId, caller]))[0];
  return row && present(row);
}
