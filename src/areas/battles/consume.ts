import type { Consumer } from '#areas/points';
import { advanceBattles } from '#jobs/arcade.ts';
import { statement } from '#platform/db/sql.ts';
import { COUNTED } from './tally.ts';

// Whoever makes the result waits for this, or this for the result: after it nothing is counted.
export const lockRunning = statement<{ id: string }>(
  'lock_running_battles',
  `select b.id from unnest($1::uuid[]) as k(id), lateral (
     select id from battles where id = k.id and state = 'running' for no key update) b`,
);

// A score counts by when it was accepted, which its own activity says; a void takes back a score that counted. The best is looked up anew
// only where it may have been taken back. One look into an index per key, also where the plan was made while the tables were small.
export const count = statement<{ id: string }>(
  'count_battle_scores',
  `with change as (
     select s.battle_id, s.wallet, sum(case k.kind when 'score' then 1 else -1 end)::int as scores,
       max(s.normalized) filter (where s.status = 'accepted') as best, max(s.normalized) filter (where k.kind = 'void') as voided
     from unnest($1::text[], $2::text[]) as k(kind, source_id)
     cross join lateral (select battle_id, wallet, normalized, status from scores where id = k.source_id::uuid offset 0) s
     cross join lateral (select started_at, due_at from battles where id = s.battle_id and state = 'running' offset 0) b
     cross join lateral (select at from activities where source_id = k.source_id and kind = 'score' offset 0) a
     where a.at >= b.started_at and a.at < b.due_at
     group by s.battle_id, s.wallet)
   update battle_seats t set scores = t.scores + c.scores,
     best = case when c.voided >= greatest(t.best, c.best) then (select s.normalized ${COUNTED} order by s.normalized desc limit 1)
       else greatest(t.best, c.best) end
   from change c, lateral (select * from battles where id = c.battle_id offset 0) b
   where t.battle_id = c.battle_id and t.wallet = c.wallet
   returning t.battle_id as id`,
);

// The end is a moment that has not been yet: all that was accepted so far counts.
export const endCompleted = statement<{ id: string }>(
  'end_completed_battles',
  `update battles b set due_at = date_trunc('milliseconds', app_now()) + interval '1 millisecond'
   from unnest($1::uuid[]) as k(id)
   where b.id = k.id and b.state = 'running' and b.due_at > app_now()
     and not exists (select from battle_seats s where s.battle_id = k.id and s.best is null)
   returning b.id`,
);

/**
 * Counts scores for the battles that they name: those of seated wallets that were accepted between start and end. A battle in which every
 * seat has a score that counts ends at once. What the result says is made from the record, so it does not wait for this.
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
