import { AT, checksumCheck, DAY, databaseCheck, FROM, IS_OPEN, inSlice, isOpenId, weight } from '../check.ts';

/** SQL expression for the UTC day number of last week's Monday. */
const LAST_WEEK = `${DAY} - (${DAY} + 3) % 7 - 7`;

/**
 * SQL condition that is true when the consumer for quests has processed all activities of the wallet. A row of `activity_batches` lists its
 * activities, each with a wallet, in the column `activities`.
 */
const COUNTED_ALL = `wallet not in (select json_array_elements(activities)->>2 from activity_batches where (consumed & 2) = 0)`;
/** SQL list of the kinds of activities of a voided score. */
const VOIDING = `'void', 'restore', 'second-void'`;
const dayOf = (instant: string) => `floor(extract(epoch from ${instant}) / 86400)::int`;

/** SQL that selects all activities. The activity of a play or score that has a batch is the play or score itself. */
const ACTIVITIES = `
  select kind, source_id, wallet, game_id, amount, day, batch from activities where ${IS_OPEN}
  union all select 'play', id::text, wallet, game_id, 0, ${dayOf('started_at')}, batch from plays where batch is not null and ${isOpenId('id')}
  union all select 'score', id::text, wallet, game_id, normalized, day, batch from scores where batch is not null and ${isOpenId('id')}`;
/**
 * SQL that selects the activities since last week's Monday that count for quests. Voided scores, and activities that quests failed to process, do not
 * count.
 */
const DONE = `
  select a.*, a.day - (a.day + 3) % 7 as week, (a.day + 3) % 7 + 1 as weekday
  from (${ACTIVITIES}) a left join (
    select source_id from activities where kind in (${VOIDING}) and ${IS_OPEN} group by 1 having sum(case kind when 'restore' then -1 else 1 end) > 0) v on v.source_id = a.source_id and a.kind = 'score'
  where a.day >= ${LAST_WEEK} and a.kind not in (${VOIDING}, 'ban', 'unban') and v.source_id is null
    and not exists (select from activity_failures f where f.consumer = 'quests' and f.kind = a.kind and f.source_id = a.source_id)`;
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 7];
/**
 * Returns SQL that finds the wallets whose weekly counters differ from their activities.
 * @param which an SQL condition that selects the wallets to compare
 */
const weeks = (which: string) => `
  with counted as (
    select * from (
      select wallet, week, unnest(array[${WEEKDAYS}]) as weekday, kind, subject, unnest(counts) as count, unnest(bests) as best, unnest(sums) as sum
      from wallet_weeks where week >= ${LAST_WEEK} and ${which}) w where count <> 0),
  done as (
    select wallet, week, weekday, kind, coalesce(game_id, '') as subject, count(*) as count, greatest(max(amount), 0) as best, sum(amount) as sum
    from (${DONE}) a where ${which} group by 1, 2, 3, 4, 5)
  select format('%s on day %s, %s %s: activities have count %s, best %s, sum %s, but the counters have %s, %s, %s', wallet, week + weekday - 1, kind, subject,
    d.count, d.best, d.sum, c.count, c.best, c.sum) as what
  from done d full join counted c using (wallet, week, weekday, kind, subject)
  where (d.count is distinct from c.count or d.best is distinct from c.best or (kind = 'burn' and d.sum is distinct from c.sum)) and ${COUNTED_ALL}`;

/**
 * Returns an SQL expression for a number that depends on five values of an activity: the id of its cause (the score or play that created the
 * activity), its wallet, its game, its amount and its battle.
 */
const row = (id: string, amount: string, battle: string) => weight(id, 'wallet', 'game_id', amount, battle);

/** SQL that selects the activities that voids and restorations of scores must have. */
const VOIDINGS = `
  select id::text as source_id, case when x.score_id is null then 'void' else 'second-void' end as kind, wallet, game_id, -normalized::int8 as amount, battle_id,
    ${dayOf('decided_at')} as day from scores left join score_restorations x on x.score_id = id where status = 'voided' and ${isOpenId('id')}
  union all select id::text, 'void', wallet, game_id, -normalized, battle_id, ${dayOf('voided_at')} from score_restorations join scores on id = score_id where ${isOpenId('id')}
  union all select id::text, 'restore', wallet, game_id, normalized, battle_id, ${dayOf('restored_at')} from score_restorations join scores on id = score_id where ${isOpenId('id')}`;

/** Checks of activities: their causes (for example scores), their processing by consumers, and their counts per week. */
export const activityChecks = [
  checksumCheck(
    'activities',
    'each play, accepted score, void and restoration of a score has one activity, as a row or by its batch, and each row of these kinds has a cause',
    [
      `select kind, count(*) as n, coalesce(sum(w), 0) as sum from (
         select 'score' as kind, ${row('id', 'normalized', 'battle_id')} as w from scores where status in ('accepted', 'voided') and batch is null and ${isOpenId('id')}
         union all select kind, ${row('source_id', 'amount', 'battle_id')} from (${VOIDINGS}) v
         union all select 'play', ${row('id', '0', 'null')} from plays where batch is null and ${isOpenId('id')}) d group by 1`,
      `select kind, count(*) as n, coalesce(sum(w), 0) as sum
       from (select kind, ${row('source_id', 'amount', 'battle_id')} as w from activities where kind in ('score', 'play', ${VOIDING}) and ${IS_OPEN}) a group by 1`,
    ],
    // Reads one day more than this check compares, because midnight may be between an activity and its cause (for example a score), so that the
    // activity and the cause have different days.
    `with due as (
       select id::text as source_id, 'score' as kind, wallet, game_id, normalized::int8 as amount, battle_id, day from scores
       where status in ('accepted', 'voided') and batch is null and day >= ${FROM} - 1 and ${isOpenId('id')}
       union all select * from (${VOIDINGS}) v where day >= ${FROM} - 1
       union all select id::text, 'play', wallet, game_id, 0, null, ${dayOf('started_at')} from plays
       where batch is null and started_at >= to_timestamp((${FROM} - 1) * 86400.0) and ${isOpenId('id')})
     select format('%s %s: expected %s of %s in %s, but the activity is %s of %s in %s', kind, source_id, d.amount, d.wallet, d.game_id, a.amount, a.wallet, a.game_id) as what
     from due d full join (select * from activities where kind in ('score', 'play', ${VOIDING}) and day >= ${FROM} - 1 and ${IS_OPEN}) a using (source_id, kind)
     where greatest(d.day, a.day) >= ${FROM} and (d.wallet, d.game_id, d.amount, d.battle_id) is distinct from (a.wallet, a.game_id, a.amount, a.battle_id)`,
  ),
  databaseCheck(
    'other-activities',
    'each referral binding, clip, burn and linked account has one activity, and each activity of these kinds has a cause',
    `with due as (
       select wallet::text as source_id, 'bind' as kind, referrer as wallet, null as game_id, 0::int8 as amount from referrals
       union all select id::text, 'clip', wallet, game_id, 0 from clips where state in ('ready', 'removing', 'removed')
       union all select concat_ws(':', signature, index, to_char(block_time at time zone 'UTC', 'YYYY-MM-DD')), 'burn', wallet, event_id::text, least(amount, 9223372036854775807)::int8 from burns),
     open as (select * from (select *, cause_day(kind, source_id) as cause_day from due) d where ${IS_OPEN})
     select format('%s %s: expected %s of %s in %s, but the activity is %s of %s in %s', kind, source_id, d.amount, d.wallet, d.game_id, a.amount, a.wallet, a.game_id) as what
     from open d full join (select * from activities where kind in ('bind', 'clip', 'burn') and ${IS_OPEN}) a using (source_id, kind)
     where (d.wallet, d.game_id, d.amount) is distinct from (a.wallet, a.game_id, a.amount)
     union all select format('%s %s is linked to %s, but there is no activity for it', platform, account_id, wallet) from linked_accounts l
     where not exists (select from activities a where a.kind = 'link' and a.cause_day = 0 and a.source_id = l.platform || ':' || l.account_id)
     union all select format('%s of %s: the account is not linked and was not linked within the last month', source_id, wallet) from activities a
     where kind = 'link' and cause_day = 0 and day > ${DAY} - 29
       and not exists (select from linked_accounts l where l.platform || ':' || l.account_id = a.source_id)
       and not exists (select from unlinked_accounts u where u.platform || ':' || u.account_id = a.source_id)`,
  ),
  databaseCheck(
    'cause-days',
    'cause_day of each ledger row and of each activity is the UTC day that the id of its cause contains',
    `select format('ledger row %s %s: cause_day is %s, but must be %s', source, source_id, cause_day, cause_day(source, source_id)) as what
     from ledger where day >= ${FROM} and ${IS_OPEN} and cause_day is distinct from cause_day(source, source_id)
     union all select format('activity %s %s: cause_day is %s, but must be %s', kind, source_id, cause_day, cause_day(kind, source_id))
     from activities where day >= ${FROM} and ${IS_OPEN} and cause_day is distinct from cause_day(kind, source_id)`,
  ),
  databaseCheck(
    'activity-batches',
    'every batch of activities is consumed within a minute and complete',
    `select format('batch %s of %s activities has been waiting since %s for consumers %s', id, size, at, 7 & ~consumed) as what from activity_batches where at < ${AT} - interval '1 minute'
     union all select format('batch %s has size %s, lists %s activities, and contains %s', b.id, b.size, json_array_length(b.activities), coalesce(a.n, 0))
     from activity_batches b left join (select batch, count(*) as n from (${ACTIVITIES}) r where batch in (select id from activity_batches) group by 1) a on a.batch = b.id
     where b.size <> json_array_length(b.activities) or b.size is distinct from a.n
     union all select format('batch %s lists %s %s, but does not contain it', b.id, e.value->>0, e.value->>1)
     from activity_batches b, json_array_elements(b.activities) e
     where not exists (select from (${ACTIVITIES}) a where a.source_id = e.value->>1 and a.kind = e.value->>0 and a.batch = b.id)`,
  ),
  databaseCheck(
    'activity-failures',
    'no consumer has failed to process an activity',
    `select format('%s could not process %s %s: %s', consumer, kind, source_id, error) as what from activity_failures`,
  ),
  checksumCheck(
    'wallet-weeks',
    'the counts of wallets of this week and last week equal their activities; best scores are compared for an eighth of the wallets, a different eighth each day',
    [
      `select kind, ${WEEKDAYS.map((n) => `coalesce(sum(w) filter (where weekday = ${n}), 0) as day${n}`).join(', ')},
         coalesce(sum(w * weekday * amount::numeric) filter (where kind = 'burn'), 0) as sum
       from (select *, ${weight('wallet', 'week', 'kind', `coalesce(game_id, '')`)} as w from (${DONE}) a where ${COUNTED_ALL}) d group by 1`,
      `select kind, ${WEEKDAYS.map((n) => `sum(w * counts[${n}]) as day${n}`).join(', ')},
         coalesce(sum(w * (${WEEKDAYS.map((n) => `${n} * sums[${n}]`).join(' + ')})) filter (where kind = 'burn'), 0) as sum
       from (select *, ${weight('wallet', 'week', 'kind', 'subject')} as w from wallet_weeks where week >= ${LAST_WEEK} and ${COUNTED_ALL}) c group by 1`,
    ],
    weeks('true'),
    (scope) => weeks(inSlice(scope)),
  ),
];
