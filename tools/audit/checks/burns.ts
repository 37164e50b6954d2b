import { databaseCheck } from '../check.ts';

export const burnChecks = [
  databaseCheck(
    'burn-standings',
    'the burns of an event sum to its standings',
    `with summed as (
       select event_id, 'total' as board, wallet, sum(amount) as amount from burns group by 1, 3
       union all select event_id, source, wallet, sum(amount) from burns where source is not null group by 1, 2, 3)
     select format('event %s, %s: %s burned %s, but the standing is %s', event_id, board, wallet, b.amount, s.amount) as what
     from summed b full join burn_standings s using (event_id, board, wallet) where b.amount is distinct from s.amount`,
  ),
  databaseCheck(
    'burn-totals',
    'the burns of an event sum to its totals, and all of them were made while it was active',
    `with summed as (
       select event_id as id, count(distinct wallet) as participants, sum(amount) as burned,
         ${['referral', 'game', 'social'].map((source) => `coalesce(sum(amount) filter (where source = '${source}'), 0) as ${source}`).join(', ')}
       from burns group by 1)
     select format('event %s: %s wallets burned %s (referral %s, game %s, social %s), but its totals are %s, %s (%s, %s, %s)', id,
       b.participants, b.burned, b.referral, b.game, b.social, e.participants, e.burned, e.referral, e.game, e.social) as what
     from burn_events e left join summed b using (id)
     where (coalesce(b.participants, 0), coalesce(b.burned, 0), coalesce(b.referral, 0), coalesce(b.game, 0), coalesce(b.social, 0))
       is distinct from (e.participants, e.burned, e.referral, e.game, e.social)
     union all select format('burn %s:%s of event %s was made at %s, when the event was not active', b.signature, b.index, b.event_id, b.block_time)
     from burns b join burn_events e on e.id = b.event_id where not coalesce(b.block_time >= e.activated_at and b.block_time < e.ends_at, false)`,
  ),
  databaseCheck(
    'burn-ranges',
    'the ranges of a burn board cover all standings, and their counts are correct',
    `with ranges as (
       select *, lag(amount) over board as below, lag(wallet) over board as below_wallet from burn_ranges
       window board as (partition by event_id, board order by amount, wallet)),
     counted as (
       select r.event_id, r.board, r.amount, r.wallet, r.n, (select count(*) from burn_standings s
         where s.event_id = r.event_id and s.board = r.board and (s.amount, s.wallet) <= (r.amount, r.wallet)
           and (s.amount, s.wallet) > (coalesce(r.below, -1), coalesce(r.below_wallet, ''))) as standings
       from ranges r)
     select format('event %s, %s: the range up to %s of %s has count %s, but %s standings', event_id, board, amount, wallet, n, standings) as what
     from counted where n <> standings
     union all select format('event %s, %s: there is no range without an upper bound', e.id, b.board)
     from burn_events e, (values ('total'), ('referral'), ('game'), ('social')) b(board)
     where e.state <> 'pending' and not exists (select from burn_ranges r where r.event_id = e.id and r.board = b.board and r.amount = 'infinity')`,
  ),
];
