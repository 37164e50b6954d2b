import type { Consumer } from '#areas/points';
import { advanceBattles } from '#jobs/arcade.ts';
import { statement } from '#platform/db/sql.ts';
import { COUNTED_SCORES } from './tally.ts';

// Locks the rows of running battles, so that this consumer waits for a transaction that finishes one of these battles, and counts no score after the
// finish.
const lockRunning = statement<{ id: string }>(
  'lock_running_battles',
  `select b.id from unnest($1::uuid[]) as k(id), lateral (
     select id from battles where id = k.id and state = 'running' for no key update) b`,
);

// A score counts if the time of its activity is between the start and the end of the battle. A void subtracts a score that counted, and recomputes
// the seat's best score if the voided score may have been the best. A restored score is added again. `offset 0` forces one index lookup per key, even in a plan that PostgreSQL cached
// while the tables were small.
const count = statement<{ id: string }>(
  'count_battle_scores',
  `with change as (
     select s.battle_id, s.wallet, sum(case when k.kind in ('score', 'restore') then 1 else -1 end)::int as scores,
       max(s.normalized) filter (where s.status = 'accepted') as best, max(s.normalized) filter (where k.kind in ('void', 'second-void')) as voided
     from unnest($1::text[], $2::text[]) as k(kind, source_id)
     cross join lateral (select battle_id, wallet, normalized, status from scores where id = k.source_id::uuid offset 0) s
     cross join lateral (select started_at, due_at from battles where id = s.battle_id and state = 'running' offset 0) b
     cross join lateral (select at from activities where source_id = k.source_id and kind = 'score'
       and cause_day = cause_day('score', k.source_id) offset 0) a
     where a.at >= b.started_at and a.at < b.due_at
     group by s.battle_id, s.wallet)
   update battle_seats t set scores = t.scores + c.scores,
     best = case when c.voided >= greatest(t.best, c.best) then (select s.normalized ${COUNTED_SCORES} order by s.normalized desc limit 1)
       else greatest(t.best, c.best) end
   from change c, lateral (select * from battles where id = c.battle_id offset 0) b
   where t.battle_id = c.battle_id and t.wallet = c.wallet
   returning t.battle_id as id`,
);

// Sets the end of a battle to the next millisecond, so that every score that was accepted until now counts.
const endCompleted = statement<{ id: string }>(
  'end_completed_battles',
  `update battles b set due_at = date_trunc('milliseconds', app_now()) + interval '1 millisecond'
   from unnest($1::uuid[]) as k(id)
   where b.id = k.id and b.state = 'running' and b.due_at > (select app_now())
     and not exists (select from battle_seats s where s.battle_id = k.id and s.best is null)
   returning b.id`,
);

/**
 * Counts scores for the battles that they name. A score counts if its wallet has a seat in the battle and the score was accepted between the start
 * and the end of the battle. Ends a battle at once when every seat has a score. The final result does not use these counts, because the final result
 * is computed from the scores.
 */
export const battleConsumer: Consumer = {
  name: 'battles',
  bit: 4,
  async consume(_app, tx, _open, activities) {
    const named = activities.filter(({ battleId }) => battleId !== null);
    if (named.length === 0) return [];
    const running = await tx.query(lockRunning, [[...new Set(named.map(({ battleId }) => battleId))]]);
    if (running.length === 0) return [];
    const changed = await tx.query(count, [named.map(({ kind }) => kind), named.map(({ sourceId }) => sourceId)]);
    const ended = changed.length > 0 ? await tx.query(endCompleted, [[...new Set(changed.map(({ id }) => id))]]) : [];
    if (ended.length > 0) tx.enqueue(advanceBattles, {});
    return [];
  },
};
