import { databaseCheck, IS_OPEN, isOpenId, OPEN } from '../check.ts';

/** SQL that selects the ids of the battles with activities that the consumer for battles has not processed yet. */
const UNPROCESSED = `select a.battle_id from activities a join activity_batches b on b.id = a.batch where a.battle_id is not null and (b.consumed & 4) = 0 and ${IS_OPEN}`;

/**
 * CTE `tally`: the best score and the number of scores per seat of a battle.
 * `min_best` and `min_scores` cover only accepted scores. `max_best` and `max_scores` cover accepted and voided scores, because a score that is
 * voided after the result of the battle still counts in this result. The scores of a wallet that is banned at the end of the battle do not count.
 */
const TALLY = `tally as (
  select t.battle_id, t.wallet, max(s.normalized) filter (where s.status = 'accepted') as min_best, max(s.normalized) as max_best,
    count(s.id) filter (where s.status = 'accepted') as min_scores, count(s.id) as max_scores
  from battle_seats t join battles b on b.id = t.battle_id
  left join (select s.*, a.at as accepted_at from scores s join activities a on a.source_id = s.id::text and a.kind = 'score'
    where ${IS_OPEN} and ${isOpenId('s.id')} and s.battle_id is not null and s.status in ('accepted', 'voided')) s
    on s.battle_id = t.battle_id and s.wallet = t.wallet and s.accepted_at >= b.started_at and s.accepted_at < b.due_at
  group by 1, 2)`;

export const battleChecks = [
  databaseCheck(
    'battle-seats',
    'a battle has a valid number of seats, numbered from 1, and the best and count of each seat equal its scores',
    `with ${TALLY}, open as (${UNPROCESSED})
     select format('battle %s, seat of %s: the seat has best %s in %s scores, but the scores give best %s in %s scores', b.id, t.wallet, t.best, t.scores, c.min_best, c.min_scores) as what
     from battle_seats t join battles b on b.id = t.battle_id join tally c on c.battle_id = t.battle_id and c.wallet = t.wallet
     where case b.state
       when 'running' then b.id not in (select battle_id from open) and (t.best is distinct from c.min_best or t.scores <> c.min_scores)
       when 'finished' then b.started_at >= to_timestamp(${OPEN} * 86400.0) and (t.scores not between c.min_scores and c.max_scores or coalesce(t.best, 0) not between coalesce(c.min_best, 0) and coalesce(c.max_best, 0)
         or (t.best is null) <> (t.scores = 0)) and not (t.best is null and t.scores = 0 and exists (
           select from activities x where x.wallet = t.wallet and x.kind = 'ban' and x.cause_day = 0 and x.at <= b.ended_at))
       else t.best is not null or t.scores <> 0 end
     union all select format('battle %s is %s and has %s seats numbered up to %s, but the maximum is %s', b.id, b.state, s.n, s.last, b.max_players)
     from battles b left join (select battle_id, count(*) as n, max(seat) as last from battle_seats group by 1) s on s.battle_id = b.id
     where s.n is null or s.n <> s.last or s.n > b.max_players or (b.state in ('running', 'finished') and s.n < 2)
     union all select format('battle %s: the first seat does not belong to its creator %s', b.id, b.created_by) from battles b
     where not exists (select from battle_seats t where t.battle_id = b.id and t.seat = 1 and t.wallet = b.created_by)`,
  ),
  databaseCheck(
    'battle-places',
    'the places of a finished battle follow from the best scores of its seats; other battles have no places',
    `with ranked as (
       select b.id, b.state, t.wallet, t.place, case when b.state = 'finished' and t.best is not null
         then rank() over (partition by b.id order by t.best desc nulls last) end as due
       from battles b join battle_seats t on t.battle_id = b.id)
     select format('battle %s is %s: %s has place %s instead of %s', id, state, wallet, place, due) as what from ranked where place is distinct from due`,
  ),
  databaseCheck(
    'battle-scores',
    'a score with a battle id belongs to a wallet with a seat in that battle, and to the game of that battle',
    `select format('score %s of %s in %s has battle id %s, but the wallet has no seat there or the game differs', s.id, s.wallet, s.game_id, s.battle_id) as what
     from scores s left join battles b on b.id = s.battle_id left join battle_seats t on t.battle_id = s.battle_id and t.wallet = s.wallet
     where s.battle_id is not null and ${isOpenId('s.id')} and (t.wallet is null or b.game_id is distinct from s.game_id)`,
  ),
];
