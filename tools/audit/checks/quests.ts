import { DAY, databaseCheck, FROM, IS_OPEN, isOpenId, OPEN, POINTS } from '../check.ts';

/** Checks of the points from quests and referrals. */
export const questChecks = [
  databaseCheck(
    'quest-points',
    'each completion of a quest that is not revoked gave its points once, and the points follow from the factors in the ledger row',
    `with given as (
       select * from ledger l where source = 'quest' and reason = 'quest' and day >= ${FROM} and ${IS_OPEN}
         and not exists (select from ledger r where ${IS_OPEN} and (r.source_id, r.source, r.wallet, r.reason, r.mode) = (l.source_id, l.source, l.wallet, 'revoke', l.mode))),
     due as (
       select c.wallet, c.mode, c.quest_id || ':' || c.window_key as source_id, coalesce(c.voided_points, c.points) as points, floor(extract(epoch from c.at) / 86400)::int as day, v.definition
       from quest_completions c left join quest_versions v on v.quest_id = c.quest_id and v.version = c.version
       where c.at >= to_timestamp(${FROM} * 86400.0) and coalesce(c.voided_points, c.points) <> 0
         and exists (select from (select cause_day('quest', c.quest_id || ':' || c.window_key) as cause_day) d where ${IS_OPEN}))
     select unnest(array_remove(array[
       case when (d.points, d.day) is distinct from (g.points, g.day) then
         format('%s of %s: the completion gives %s on day %s, but the ledger has %s on day %s', source_id, wallet, d.points, d.day, g.points, g.day) end,
       case when g.points is not null and (g.points is distinct from g.base * g.factor / 10000 or (d.definition->>'points')::int8 is distinct from g.base) then
         format('%s of %s: %s points do not follow from the factors %s', source_id, wallet, g.points, g.factors) end], null)) as what
     from due d full join (select *, (factors->>'basePoints')::int8 as base, (factors->>'basisPoints')::int8 as factor from given) g using (wallet, mode, source_id)
     where (d.points, d.day) is distinct from (g.points, g.day)
       or g.points is distinct from g.base * g.factor / 10000 or (d.definition->>'points')::int8 is distinct from g.base`,
  ),
  databaseCheck(
    'void-completions',
    'the ledger has taken back the points of each void completion of a quest, and no others',
    `with given as (
       select wallet, mode, split_part(source_id, ':', 1) || ':' || split_part(source_id, ':', 2) as id, sum(points) as points
       from ledger where source = 'quest' and reason in ('void', 'restore') and ${IS_OPEN} group by 1, 2, 3),
     due as (select wallet, mode, quest_id || ':' || window_key as id, -voided_points as points from quest_completions where voided_points is not null)
     select format('%s of %s: the void of the completion takes %s points, but the ledger has %s', id, wallet, coalesce(d.points, 0), coalesce(g.points, 0)) as what
     from due d full join given g using (wallet, mode, id) where coalesce(d.points, 0) <> coalesce(g.points, 0)`,
  ),
  databaseCheck(
    'withheld-shares',
    'the shares of a banned wallet are withheld from its referrer, those of other wallets are not, and the withheld points equal the ledger',
    `with summed as (
       select factors->>'referred' as wallet, -coalesce(sum(points) filter (where mode = 'regular'), 0) as withheld,
         -coalesce(sum(points) filter (where mode = 'regular' and rewards), 0) as rewards, -coalesce(sum(points) filter (where mode = 'beta'), 0) as beta
       from ledger where source = 'ban' and cause_day = 0 group by 1)
     select format('%s: the ledger withholds %s points, %s of them with rewards, and %s beta points, but the referral row has %s, %s and %s', wallet,
       coalesce(s.withheld, 0), coalesce(s.rewards, 0), coalesce(s.beta, 0), r.withheld, r.withheld_rewards, r.beta_withheld) as what
     from summed s full join referrals r using (wallet)
     where (coalesce(s.withheld, 0), coalesce(s.rewards, 0), coalesce(s.beta, 0)) is distinct from (r.withheld, r.withheld_rewards, r.beta_withheld)
     union all select format('%s is %s, but its referrer has %s points and %s beta points, and %s and %s are withheld', r.wallet,
       case when p.banned_at is null then 'not banned' else 'banned' end, r.points, r.beta_points, r.withheld, r.beta_withheld)
     from referrals r join players p using (wallet)
     where case when p.banned_at is null then r.withheld <> 0 or r.beta_withheld <> 0 else r.points <> 0 or r.beta_points <> 0 end
       and not exists (select from activity_batches where (consumed & 1) = 0)`,
  ),
  databaseCheck(
    'referral-sums',
    'the points of referrers per referred wallet equal the ledger',
    `with summed as (
       select referred as wallet, max(wallet) as referrer, min(wallet) as other,
         coalesce(sum(points) filter (where mode = 'regular'), 0) as points, coalesce(sum(points) filter (where mode = 'beta'), 0) as beta
       from ${POINTS} p where kind = 'referral' group by 1)
     select format('%s, referred by %s: the ledger gave %s and %s beta points to %s, but the referral row has %s and %s', wallet, r.referrer, s.points, s.beta,
       concat_ws(', ', s.referrer, nullif(s.other, s.referrer)), r.points, r.beta_points) as what
     from summed s full join referrals r using (wallet)
     where (coalesce(s.points, 0), coalesce(s.beta, 0)) is distinct from (r.points, r.beta_points) or s.referrer <> r.referrer or s.other <> r.referrer`,
  ),
  databaseCheck(
    'referral-days',
    'the daily points of referrers equal the ledger',
    `with summed as (
       select wallet as referrer, day, coalesce(sum(points) filter (where reason = 'referral'), 0) as used, coalesce(sum(points) filter (where mode = 'regular'), 0) as points
       from ledger where kind = 'referral' and day >= ${OPEN} group by 1, 2)
     select format('%s on day %s: the ledger gave %s points and used %s of the cap, but the daily row has %s and %s', referrer, day, s.points, s.used, d.points, d.used) as what
     from summed s full join (select * from referral_days where day >= ${OPEN}) d using (referrer, day)
     where (coalesce(s.points, 0), coalesce(s.used, 0)) is distinct from (d.points, d.used)`,
  ),
  databaseCheck(
    'referral-cap',
    'no referrer got more points today than the daily cap',
    ({ config }) =>
      `select format('%s: used %s of the daily cap of ${config.referralDailyCap}', referrer, used) as what from referral_days
       where day = ${DAY} and used > ${config.referralDailyCap}`,
  ),
  databaseCheck(
    'referral-shares',
    'a referrer’s share belongs to an accepted score of the referred wallet, is at most the stated percentage, and is reversed when the score is voided',
    `with given as (
       select l.*, s.wallet as scored_by, coalesce(x.points, s.points) as score_points, s.points as present_points, s.status, x.score_id is not null as restored, s.mode as score_mode, r.referrer
       from ledger l left join (select * from scores where ${isOpenId('id')}) s on s.id = case when l.source_id ~ '^[0-9a-f-]{36}$' then l.source_id::uuid end
         left join score_restorations x on x.score_id = s.id left join referrals r on r.wallet = l.factors->>'referred'
       where l.kind = 'referral' and l.source = 'score' and l.day >= ${FROM} and ${IS_OPEN})
     select format('score %s: %s got a share of %s, which does not match the score', source_id, wallet, points) as what from given
     where reason = 'referral' and (scored_by is distinct from factors->>'referred' or referrer is distinct from wallet or status not in ('accepted', 'voided')
       or score_mode <> mode or points > floor(score_points * (factors->>'percent')::int / 100.0))
     union all select format('score %s: %s was reversed from %s, but the share was %s', v.source_id, v.points, v.wallet, coalesce(g.points, 0))
     from given v left join (select * from ledger where ${IS_OPEN}) g on (g.source_id, g.source, g.wallet, g.reason, g.mode) = (v.source_id, 'score', v.wallet, 'referral', v.mode)
     where v.reason = 'referral-void' and (v.points is distinct from -g.points or not (v.status = 'voided' or v.restored))
     union all select format('score %s: %s was given back to %s, but the share was %s', v.source_id, v.points, v.wallet, coalesce(g.points, 0))
     from given v left join (select * from ledger where ${IS_OPEN}) g on (g.source_id, g.source, g.wallet, g.reason, g.mode) = (v.source_id, 'score', v.wallet, 'referral', v.mode)
     where v.reason = 'referral-restore' and (not v.restored or v.points > coalesce(g.points, 0) or v.points > v.present_points)
     union all select format('score %s is voided, but %s still has the share of %s', g.source_id, g.wallet, g.points) from given g
     where g.reason = 'referral' and g.status = 'voided'
       and (select sum(points) from ledger v where ${IS_OPEN} and (v.source_id, v.source, v.wallet, v.kind, v.mode) = (g.source_id, 'score', g.wallet, 'referral', g.mode)) <> 0
       and not exists (select from activity_failures f where f.consumer = 'referrals' and f.source_id = g.source_id)
       and not exists (
         select from activities a join activity_batches b on b.id = a.batch where ${IS_OPEN} and a.source_id = g.source_id and a.kind in ('void', 'second-void') and (b.consumed & 1) = 0)`,
  ),
];
