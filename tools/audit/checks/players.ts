import { AT, checksumCheck, DAY, databaseCheck, FROM, IS_OPEN, isOpenId, isSummed, POINTS, weight } from '../check.ts';

/** SQL that selects the numbers stored in `players.tally`: the number of scores and the sum of points, one row per wallet, mode and game. */
const TALLIES = `
  select wallet, (m).key as mode, (g).key as game_id, ((g).value->>'scores')::int8 as scores, ((g).value->>'points')::int8 as points
  from (select wallet, m, jsonb_each((m).value) as g from (select wallet, jsonb_each(tally) as m from players) p) p`;

/** SQL for the accepted scores: one row per score, and one row per wallet, mode and game for each month whose rows are replaced by sums. */
const ACCEPTED = `(
  select wallet, mode, game_id, 1::int8 as scores, points::int8 as points, normalized::int8 as normalized from scores where status = 'accepted' and ${isOpenId('id')}
  union all select wallet, mode, game_id, scores, points, normalized from carried_games where scores > 0 and ${isSummed('month')})`;
/** A play that began on the last days of a closed month can end with a score in the next month. A play takes at most 7 days. */
const LONGEST_PLAY_DAYS = 8;
/** SQL for the conversions whose month is not replaced by sums. */
const OPEN_CONVERSIONS = `(select * from (select *, cause_day('conversion', id::text) as cause_day from beta_conversions) c where ${IS_OPEN}) c`;

/** Checks of the sums stored with players and games. */
export const playerChecks = [
  checksumCheck(
    'tallies',
    'the tallies of a player equal its accepted scores',
    [
      `select mode, coalesce(sum(w * scores), 0) as scores, coalesce(sum(w * points), 0) as points
       from (select mode, scores, points, ${weight('wallet', 'game_id')} as w from ${ACCEPTED} s) s group by 1`,
      `select mode, coalesce(sum(w * scores), 0) as scores, coalesce(sum(w * points), 0) as points
       from (select *, ${weight('wallet', 'game_id')} as w from (${TALLIES}) t) t group by 1`,
    ],
    `with tallies as (${TALLIES}),
     counted as (select wallet, mode, game_id, sum(scores) as scores, sum(points) as points from ${ACCEPTED} s group by 1, 2, 3)
     select format('%s, %s in %s: accepted scores give %s points in %s scores, but the tally has %s points in %s scores', wallet, mode, game_id, c.points, c.scores, t.points, t.scores) as what
     from counted c full join tallies t using (wallet, mode, game_id)
     where (coalesce(c.scores, 0), coalesce(c.points, 0)) is distinct from (coalesce(t.scores, 0), coalesce(t.points, 0))`,
  ),
  databaseCheck(
    'earnings',
    'the points earned today by a wallet equal those of its scores, within both daily caps',
    ({ config }) => `
     with earned as (
       select wallet, (g).key as game_id, (g).value::int8 as points
       from (select wallet, jsonb_each_text(earned_by_game) as g from players where earned_day = ${DAY}) p),
     granted as (select wallet, game_id, sum(points) as points from scores where day = ${DAY} and status = 'accepted' and ${isOpenId('id')} group by 1, 2),
     caps as (select game_id, max((definition->'caps'->>'dailyPoints')::numeric) as cap from game_versions group by 1)
     select format('%s in %s: scores of today gave %s points, but the player row has %s', wallet, game_id, g.points, t.points) as what
     from granted g full join earned t using (wallet, game_id) where coalesce(g.points, 0) <> coalesce(t.points, 0)
     union all select format('%s in %s: %s earned today, more than the cap of %s', wallet, game_id, t.points, c.cap)
     from earned t join caps c using (game_id) where t.points > c.cap
     union all select format('%s: %s earned today, but %s in the sum over its games', wallet, p.earned, coalesce(t.points, 0))
     from players p left join (select wallet, sum(points) as points from earned group by 1) t using (wallet)
     where p.earned_day = ${DAY} and p.earned <> coalesce(t.points, 0)
     union all select format('%s: %s earned today, more than the cap of ${config.dailyPointsCap}', wallet, earned)
     from players where earned_day = ${DAY} and earned > ${config.dailyPointsCap}`,
  ),
  databaseCheck(
    'conversions',
    'each conversion of beta points has two ledger rows, and the player rows hold the sums of the conversions that are not revoked',
    `with due as (
       select id::text as source_id, wallet, 'regular' as mode, points from ${OPEN_CONVERSIONS}
       union all select id::text, wallet, 'beta', -beta_points from ${OPEN_CONVERSIONS}),
     given as (select source_id, wallet, mode, points, kind, rewards from ledger where source = 'conversion' and reason = 'conversion' and ${IS_OPEN}),
     summed as (
       select wallet, -coalesce(sum(points) filter (where mode = 'beta'), 0) as beta, coalesce(sum(points) filter (where mode = 'regular'), 0) as points
       from ${POINTS} p where kind = 'conversion' group by 1)
     select format('conversion %s of %s, %s: expected %s points, but the ledger has %s', source_id, wallet, mode, d.points, g.points) as what
     from due d full join given g using (source_id, wallet, mode)
     where d.points is distinct from g.points or g.kind <> 'conversion' or g.rewards
     union all select format('%s: conversions of %s beta points gave %s, but the player row has %s and %s', wallet, s.beta, s.points, p.converted_beta, p.converted_points)
     from summed s full join players p using (wallet)
     where (coalesce(s.beta, 0), coalesce(s.points, 0)) is distinct from (coalesce(p.converted_beta, 0), coalesce(p.converted_points, 0))`,
  ),
  databaseCheck(
    'game-counters',
    'the counters of games equal their plays, players and accepted scores in regular mode, without the scores of banned wallets',
    `with counted as (
       select game_id, sum(plays) as plays, sum(players) as players, sum(scores) as scores, sum(score_sum) as sum from game_counters group by 1),
     played as (
       select game_id, wallet, 1::int8 as plays from plays where mode = 'regular' and ${isOpenId('id')}
       union all select game_id, wallet, 1 from scores
       where mode = 'regular' and ${isOpenId('id')} and (play_id is null or play_id in (select id from plays where mode = 'beta' and ${isOpenId('id', LONGEST_PLAY_DAYS)}))
       union all select game_id, wallet, plays from carried_games where mode = 'regular' and plays > 0 and ${isSummed('month')}),
     of_wallet as (select game_id, wallet, sum(plays) as plays from played group by 1, 2),
     due as (
       select game_id, sum(w.plays) as plays, count(*) as players, count(*) filter (where g.wallet is null) as missing
       from of_wallet w left join game_players g using (game_id, wallet) group by 1),
     listed as (select game_id, count(*) as players from game_players group by 1),
     scored as (select game_id, sum(scores) as scores, sum(normalized) as sum from ${ACCEPTED} s
       where mode = 'regular' and not exists (select from players p where p.wallet = s.wallet and p.banned_at is not null) group by 1)
     select format('%s: %s plays of %s players and %s scores with sum %s, but the counters have %s, %s, %s, %s, and %s players are listed, %s of them are missing', game_id,
       coalesce(d.plays, 0), coalesce(d.players, 0), coalesce(s.scores, 0), coalesce(s.sum, 0), c.plays, c.players, c.scores, c.sum, coalesce(l.players, 0), coalesce(d.missing, 0)) as what
     from counted c full join due d using (game_id) full join scored s using (game_id) full join listed l using (game_id)
     where (coalesce(c.plays, 0), coalesce(c.players, 0), coalesce(c.scores, 0), coalesce(c.sum, 0), coalesce(l.players, 0), coalesce(d.missing, 0))
       is distinct from (coalesce(d.plays, 0), coalesce(d.players, 0), coalesce(s.scores, 0), coalesce(s.sum, 0), coalesce(d.players, 0), 0)`,
  ),
  databaseCheck(
    'bans',
    'the held scores of a banned wallet are rejected within ten minutes, and its clips are hidden',
    `select format('%s: banned since %s, but its held scores are not rejected', wallet, banned_at) as what from players
     where banned_at < ${AT} - interval '10 minutes' and scores_voided_at is null
     union all select format('%s: banned since %s, but score %s is held', p.wallet, p.banned_at, s.id)
     from players p join scores s on s.wallet = p.wallet where p.scores_voided_at is not null and s.status = 'held' and ${isOpenId('s.id')}
     union all select format('clip %s is %s, but its wallet is %s', c.id, case when c.hidden then 'hidden' else 'shown' end, case when p.banned_at is null then 'not banned' else 'banned' end)
     from clips c join players p using (wallet) where c.state <> 'abandoned' and c.hidden <> (p.banned_at is not null)`,
  ),
];

/**
 * The valid combinations of source, kind and reason of a ledger row. The list does not come from the service, so that the audit finds a combination
 * that the service writes by mistake. A check of this folder compares the points of each combination with their cause.
 */
export const AUDITED_CAUSES = [
  ['score', 'game', 'score'],
  ['score', 'game', 'void'],
  ['score', 'game', 'restore'],
  ['score', 'game', 'second-void'],
  ['score', 'referral', 'referral'],
  ['score', 'referral', 'referral-void'],
  ['score', 'referral', 'referral-restore'],
  ['score', 'referral', 'referral-second-void'],
  ['ban', 'referral', 'ban'],
  ['ban', 'referral', 'unban'],
  ['quest', 'quest', 'quest'],
  ['quest', 'quest', 'void'],
  ['quest', 'quest', 'restore'],
  ['conversion', 'conversion', 'conversion'],
  ['adjustment', 'adjustment', 'adjustment'],
  ['quest', 'quest', 'revoke'],
  ['conversion', 'conversion', 'revoke'],
  ['adjustment', 'adjustment', 'revoke'],
] as const;

const dayOf = (instant: string) => `floor(extract(epoch from ${instant}) / 86400)::int`;

/** SQL for the scores whose month is not replaced by sums. */
const OPEN_SCORES = `(select * from scores where ${isOpenId('id')})`;

/** SQL that selects the ledger rows that scores, their voids and their restorations must have. */
const SCORE_ROWS = `
  select id::text as source_id, wallet, mode, 'score' as reason, coalesce(x.points, s.points) as points, day
    from ${OPEN_SCORES} s left join score_restorations x on x.score_id = id where status in ('accepted', 'voided') and coalesce(x.points, s.points) > 0
  union all select id::text, wallet, mode, case when x.score_id is null then 'void' else 'second-void' end, -s.points, ${dayOf('decided_at')}
    from ${OPEN_SCORES} s left join score_restorations x on x.score_id = id where status = 'voided' and s.points > 0
  union all select id::text, wallet, mode, 'void', -x.points, ${dayOf('voided_at')} from score_restorations x join ${OPEN_SCORES} s on id = score_id where x.points > 0
  union all select id::text, wallet, mode, 'restore', s.points, ${dayOf('restored_at')} from score_restorations x join ${OPEN_SCORES} s on id = score_id where s.points > 0`;

/** Checks of the points that operators gave, took or revoked. */
export const adjustmentChecks = [
  databaseCheck(
    'adjustments',
    'each ledger row of an operator names the operator and the reason',
    `select format('%s %s of %s, %s: %s points without a name or a reason', source, source_id, wallet, reason, points) as what from ledger
     where ${IS_OPEN} and (source = 'adjustment' or reason = 'revoke') and (coalesce(factors->>'by', '') = '' or coalesce(factors->>'note', '') = '')`,
  ),
  databaseCheck(
    'revocations',
    'each ledger row that revokes another row has its opposite points; both rows of a conversion are revoked, or none; a revoked completion has 0 points',
    `with revoked as (select * from ledger where reason = 'revoke' and ${IS_OPEN})
     select format('%s %s of %s, %s: %s points were revoked, but the ledger gave %s', r.source, r.source_id, r.wallet, r.mode, -r.points, coalesce(g.points, 0)) as what
     from revoked r left join (select * from ledger where ${IS_OPEN}) g on (g.source_id, g.source, g.wallet, g.reason, g.mode) = (r.source_id, r.source, r.wallet, r.source, r.mode)
     where (-r.points, r.rewards, r.kind) is distinct from (g.points, g.rewards, g.kind)
     union all select format('conversion %s of %s: %s of its 2 rows are revoked', source_id, wallet, count(*)) from revoked
     where source = 'conversion' group by source_id, wallet having count(*) <> 2
     union all select format('%s of %s: revoked, but the completion %s', r.source_id, r.wallet, coalesce('still has ' || c.points || ' points', 'is missing'))
     from revoked r left join quest_completions c on c.wallet = r.wallet and c.quest_id || ':' || c.window_key = r.source_id and c.mode = r.mode
     where r.source = 'quest' and c.points is distinct from 0`,
  ),
];

/** Checks of the points that scores gave. */
export const scoreChecks = [
  checksumCheck(
    'score-points',
    'each score with points has one ledger row, and one more for each void and each restoration, and the ledger has no other rows for scores',
    [
      `select coalesce(sum(w * points), 0) as points, coalesce(sum(w * day), 0) as days
       from (select points, day, ${weight('source_id', 'wallet', 'mode', 'reason')} as w from ledger where source = 'score' and kind = 'game' and ${IS_OPEN}) l`,
      `select coalesce(sum(w * points), 0) as points, coalesce(sum(w * day), 0) as days
       from (select points, day, ${weight('source_id', 'wallet', 'mode', 'reason')} as w from (${SCORE_ROWS}) r) s`,
    ],
    `with given as (select source_id, wallet, mode, reason, points, day from ledger where source = 'score' and kind = 'game' and day >= ${FROM} and ${IS_OPEN}),
     due as (
       select * from (${SCORE_ROWS}) r where day >= ${FROM})
     select format('score %s of %s, %s, %s: expected %s points on day %s, but the ledger has %s on day %s', source_id, wallet, mode, reason, d.points, d.day, g.points, g.day) as what
     from due d full join given g using (source_id, wallet, mode, reason) where (d.points, d.day) is distinct from (g.points, g.day)`,
    () => `select format('score %s of %s: its points %s for rewards, but the rows that void them do not match', v.source_id, v.wallet, case when s.rewards then 'count' else 'do not count' end) as what
     from (select * from ledger where ${IS_OPEN}) v join (select * from ledger where ${IS_OPEN}) s on (s.source_id, s.source, s.wallet, s.reason, s.mode) = (v.source_id, 'score', v.wallet, 'score', v.mode)
     where v.source = 'score' and v.reason in ('void', 'restore', 'second-void') and v.day >= ${FROM} and v.rewards <> s.rewards`,
  ),
  databaseCheck(
    'score-states',
    'held and rejected scores gave no points and have no batch of activities, each accepted score has points or a reason why not, and each decision on a score names its author',
    `select format('score %s is %s with %s points and the reason %s, or its decision is incomplete', id, status, points, no_points_reason) as what from scores
     where day >= ${FROM} and ${isOpenId('id')} and ((status in ('held', 'rejected') and (points > 0 or personal_best or batch is not null))
       or ((status in ('accepted', 'voided') and points = 0) <> (no_points_reason is not null))
       or (status in ('rejected', 'voided') and (decided_at is null or decided_by is null)) or (status = 'held' and decided_at is not null))`,
  ),
  databaseCheck(
    'ledger-causes',
    'every ledger row has a valid combination of source, kind and reason',
    `select format('%s: %s points of kind %s for %s from %s %s', wallet, points, kind, reason, source, source_id) as what from ledger
     where day >= ${FROM} and ${IS_OPEN} and (source, kind, reason) not in (${AUDITED_CAUSES.map((cause) => `('${cause.join(`', '`)}')`).join(', ')})`,
  ),
];
