import { isBanned } from '#areas/points';

/**
 * SQL: the accepted scores `s` of a seat `t` that count for its battle `b`. The time of the score's activity must be between the start and the end of
 * the battle. For a score that was held, the activity has the time at which a moderator accepted the score.
 */
export const COUNTED_SCORES = `from scores s cross join lateral (select at from activities where source_id = s.id::text and kind = 'score'
    and cause_day = cause_day('score', s.id::text) offset 0) a
  where s.battle_id = t.battle_id and s.wallet = t.wallet and s.status = 'accepted' and a.at >= b.started_at and a.at < b.due_at`;

/** SQL: the scores of `COUNTED_SCORES` that count for the result of the battle: none if the wallet is banned. */
export const SCORES_OF_RESULT = `${COUNTED_SCORES} and not ${isBanned('t.wallet')}`;
