/**
 * SQL: the accepted scores `s` of a seat `t` that count in its battle `b`. A score counts by the time of its activity, which for a
 * held score is the time of the decision.
 */
export const COUNTED_SCORES = `from scores s cross join lateral (select at from activities where source_id = s.id::text and kind = 'score' offset 0) a
  where s.battle_id = t.battle_id and s.wallet = t.wallet and s.status = 'accepted' and a.at >= b.started_at and a.at < b.due_at`;
