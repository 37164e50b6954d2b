import { recordCheck } from '../check.ts';

/** SQL: battles about which something is not consumed yet. */
const OPEN = `select a.battle_id from activities a join activity_batches b on b.id = a.batch where a.battle_id is not null and (b.consumed & 4) = 0`;

/**
 * SQL: what the scores of each seat come to. `least`: of those that stand; `most`: also of those that were taken back, which counted where the
 * result was made before.
 */
const TALLY = `tally as (
  select t.battle_id, t.wallet, max(s.normalized) filter (where s.status = 'accepted') as least, max(s.normalized) as most,
    count(s.id) filter (where s.status = 'accepted') as fewest, count(s.id) as scores
  from battle_seats t join battles b on b.id = t.battle_id
  left join (select s.*, a.at as accepted_at from scores s join activities a on a.source_id = s.id::text and a.kind = 'score'
    where s.battle_id is not null and s.status in ('accepted', 'voided')) s
    on s.battle_id = t.battle_id and s.wallet = t.wallet and s.accepted_at >= b.started_at and s.accepted_at < b.due_at
  group by 1, 2)`;

export const battleChecks = [
  recordCheck(
    'battle-seats',
    'seats are as many as there may be, numbered from 1, and what they say of scores is what the scores say',
    `with ${TALLY}, open as (${OPEN})
     select format('battle %s, seat of %s: %s in %s scores, and its scores say %s in %s', b.id, t.wallet, t.best, t.scores, c.least, c.fewest) as what
     from battle_seats t join battles b on b.id = t.battle_id join tally c on c.battle_id = t.battle_id and c.wallet = t.wallet
     where case b.state
       when 'running' then b.id not in (select battle_id from open) and (t.best is distinct from c.least or t.scores <> c.fewest)
       when 'finished' then t.scores not between c.fewest and c.scores or coalesce(t.best, 0) not between coalesce(c.least, 0) and coalesce(c.most, 0)
         or (t.best is null) <> (t.scores = 0)
       else t.best is not null or t.scores <> 0 end
     union all select format('battle %s, which is %s, has %s seats up to %s, and may have %s', b.id, b.state, s.n, s.last, b.max_players)
     from battles b left join (select battle_id, count(*) as n, max(seat) as last from battle_seats group by 1) s on s.battle_id = b.id
     where s.n is null or s.n <> s.last or s.n > b.max_players or (b.state in ('running', 'finished') and s.n < 2)
     union all select format('battle %s: its first seat is not that of %s, who created it', b.id, b.created_by) from battles b
     where not exists (select from battle_seats t where t.battle_id = b.id and t.seat = 1 and t.wallet = b.created_by)`,
  ),
  recordCheck(
    'battle-places',
    'the places of a battle that is over follow from the bests of its seats; no other battle has any',
    `with ranked as (
       select b.id, b.state, t.wallet, t.place, case when b.state = 'finished' and t.best is not null
         then rank() over (partition by b.id order by t.best desc nulls last) end as due
       from battles b join battle_seats t on t.battle_id = b.id)
     select format('battle %s, which is %s: %s has place %s instead of %s', id, state, wallet, place, due) as what from ranked where place is distinct from due`,
  ),
  recordCheck(
    'battle-scores',
    'a score that names a battle is of a wallet that has a seat in it, and of its game',
    `select format('score %s of %s in %s names battle %s', s.id, s.wallet, s.game_id, s.battle_id) as what
     from scores s left join battles b on b.id = s.battle_id left join battle_seats t on t.battle_id = s.battle_id and t.wallet = s.wallet
     where s.battle_id is not null and (t.wallet is null or b.game_id is distinct from s.game_id)`,
  ),
];
