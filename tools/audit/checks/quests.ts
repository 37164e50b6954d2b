import { DAY, FROM, recordCheck } from '../check.ts';

/** Quests and referrals: what gave points, and who counts it. */
export const questChecks = [
  recordCheck(
    'quest-points',
    'each completion of a quest gave its points once, by the rule that is kept with them',
    `with given as (select * from ledger where source = 'quest' and day >= ${FROM}),
     due as (
       select c.wallet, c.quest_id || ':' || c.window_key as source_id, c.points, floor(extract(epoch from c.at) / 86400)::int as day, v.definition
       from quest_completions c left join quest_versions v on v.quest_id = c.quest_id and v.version = c.version
       where c.at >= to_timestamp(${FROM} * 86400.0) and c.points <> 0)
     select unnest(array_remove(array[
       case when (d.points, d.day) is distinct from (g.points, g.day) then
         format('%s of %s: the completion gives %s on day %s, the ledger has %s on day %s', source_id, wallet, d.points, d.day, g.points, g.day) end,
       case when g.points is not null and (g.points is distinct from g.base * g.factor / 10000 or (d.definition->>'points')::int8 is distinct from g.base) then
         format('%s of %s: %s points are not those of %s', source_id, wallet, g.points, g.factors) end], null)) as what
     from due d full join (select *, (factors->>'basePoints')::int8 as base, (factors->>'basisPoints')::int8 as factor from given) g using (wallet, source_id)
     where (d.points, d.day) is distinct from (g.points, g.day)
       or g.points is distinct from g.base * g.factor / 10000 or (d.definition->>'points')::int8 is distinct from g.base`,
  ),
  recordCheck(
    'referral-sums',
    'what referrers got for a wallet is what the ledger says',
    `with summed as (
       select factors->>'referred' as wallet, max(wallet) as referrer, min(wallet) as other,
         coalesce(sum(points) filter (where mode = 'regular'), 0) as points, coalesce(sum(points) filter (where mode = 'beta'), 0) as beta
       from ledger where kind = 'referral' group by 1)
     select format('%s, referred by %s: the ledger gave %s and %s beta points to %s, and its row says %s and %s', wallet, r.referrer, s.points, s.beta,
       concat_ws(', ', s.referrer, nullif(s.other, s.referrer)), r.points, r.beta_points) as what
     from summed s full join referrals r using (wallet)
     where (coalesce(s.points, 0), coalesce(s.beta, 0)) is distinct from (r.points, r.beta_points) or s.referrer <> r.referrer or s.other <> r.referrer`,
  ),
  recordCheck(
    'referral-days',
    'what referrers got in a day is what the ledger says, within the cap',
    `with summed as (
       select wallet as referrer, day, coalesce(sum(points) filter (where points > 0), 0) as used, coalesce(sum(points) filter (where mode = 'regular'), 0) as points
       from ledger where kind = 'referral' group by 1, 2)
     select format('%s on day %s: the ledger gave %s, of the cap %s, and the day says %s, %s', referrer, day, s.points, s.used, d.points, d.used) as what
     from summed s full join referral_days d using (referrer, day)
     where (coalesce(s.points, 0), coalesce(s.used, 0)) is distinct from (d.points, d.used)`,
  ),
  recordCheck(
    'referral-cap',
    'no referrer got more than the cap today',
    ({ config }) =>
      `select format('%s: %s of today’s cap of ${config.referralDailyCap} are used', referrer, used) as what from referral_days
       where day = ${DAY} and used > ${config.referralDailyCap}`,
  ),
  recordCheck(
    'referral-shares',
    'a referrer’s share is of a score that its wallet had accepted, at most what it is said to be, and gone when that was taken back',
    `with given as (
       select l.*, s.wallet as scored_by, s.points as score_points, s.status, s.mode as score_mode, r.referrer
       from ledger l left join scores s on s.id = case when l.source_id ~ '^[0-9a-f-]{36}$' then l.source_id::uuid end left join referrals r on r.wallet = l.factors->>'referred'
       where l.kind = 'referral' and l.day >= ${FROM})
     select format('score %s: %s got %s for it', source_id, wallet, points) as what from given
     where reason = 'referral' and (scored_by is distinct from factors->>'referred' or referrer is distinct from wallet or status not in ('accepted', 'voided')
       or score_mode <> mode or points > floor(score_points * (factors->>'percent')::int / 100.0))
     union all select format('score %s: %s was taken back from %s, which had got %s for it', v.source_id, v.points, v.wallet, coalesce(g.points, 0))
     from given v left join ledger g on (g.source_id, g.source, g.wallet, g.reason, g.mode) = (v.source_id, 'score', v.wallet, 'referral', v.mode)
     where v.reason = 'referral-void' and (v.points is distinct from -g.points or v.status <> 'voided')
     union all select format('score %s was taken back, and %s still has %s for it', g.source_id, g.wallet, g.points) from given g
     where g.reason = 'referral' and g.status = 'voided'
       and not exists (select from ledger v where (v.source_id, v.source, v.wallet, v.reason, v.mode) = (g.source_id, 'score', g.wallet, 'referral-void', g.mode))
       and not exists (select from activity_failures f where f.consumer = 'referrals' and f.source_id = g.source_id)
       and not exists (
         select from activities a join activity_batches b on b.id = a.batch where a.source_id = g.source_id and a.kind = 'void' and (b.consumed & 1) = 0)`,
  ),
];
