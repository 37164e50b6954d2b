/**
 * SQL: the accepted scores `s` of a seat `t` that count in its battle `b`, from the record. A score was accepted when its activity says so; one that
 * was held counts by when it was decided.
 */
export const COUNTED = `from scores s cross join lateral (select at from activities where source_id = s.id::text and kind = 'score' offset 0) a
  where s.battle_id = t.battle_id and s.wallet = t.wallet and s.status = 'accepted' and a.at >= b.started_at and a.at < b.due_at`;
