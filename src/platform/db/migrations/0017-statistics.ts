import { Migration } from '@mikro-orm/migrations';

/** Changes the statistics of games and periods, and stores why a score gave no points. */
export class Migration0017Statistics extends Migration {
  override up(): void {
    // The mode in which the wallet played when it started the play. Plays in beta mode are not in the public statistics. For an old play, the mode of
    // its score is the best known value.
    this.addSql(`alter table plays add column mode text not null default 'regular' check (mode in ('regular', 'beta'))`);
    this.addSql(`update plays p set mode = 'beta' from scores s where s.play_id = p.id and s.mode = 'beta'`);

    // The wallets that have a play in regular mode in a game. Their number is kept in `game_counters.players`, so that no query counts the rows.
    this.addSql(`
      create table game_players (
        game_id text not null,
        wallet wallet not null,
        primary key (game_id, wallet)
      )`);
    this.addSql(`
      insert into game_players (game_id, wallet)
      select game_id, wallet from plays where mode = 'regular' union select game_id, wallet from scores where mode = 'regular'`);
    this.addSql(`alter table game_counters add column players bigint not null default 0`);
    this.count('regular');
    this.addSql(`
      insert into game_counters as c (game_id, shard, players) select game_id, 0, count(*) from game_players group by game_id
      on conflict (game_id, shard) do update set players = excluded.players`);

    // Why an accepted score gave no points. For old scores, the reason follows from the game and from the points of the wallet on that day.
    this.addSql(`
      alter table scores add column no_points_reason text
      check (no_points_reason in ('game-earns-nothing', 'low-score', 'game-cap', 'daily-cap'))`);
    this.addSql(`
      update scores s set no_points_reason = case
        when g.per_10000 = 0 or g.cap = 0 then 'game-earns-nothing'
        when s.normalized::bigint * g.per_10000 < 10000 then 'low-score'
        when (select sum(o.points) from scores o where o.wallet = s.wallet and o.game_id = s.game_id and o.day = s.day) >= g.cap then 'game-cap'
        else 'daily-cap' end
      from (
        select game_id, version, (definition ->> 'pointsPer10000')::bigint as per_10000, (definition #>> '{caps,dailyPoints}')::bigint as cap
        from game_versions) g
      where g.game_id = s.game_id and g.version = s.game_version and s.points = 0 and s.status in ('accepted', 'voided')`);

    // The sum of the final values of a board of points in a closed period, so that no query adds up the rows of `finals`.
    this.addSql(`
      create table final_sums (
        board text collate "C" not null,
        period text not null,
        bucket int not null,
        points bigint not null,
        primary key (board, period, bucket)
      )`);
    this.addSql(`
      insert into final_sums (board, period, bucket, points)
      select board, period, bucket, sum(value) from finals where board in ('global', 'quests', 'referrals') group by board, period, bucket`);
  }

  override down(): void {
    this.addSql('drop table final_sums, game_players');
    this.addSql('alter table scores drop column no_points_reason');
    this.addSql('alter table game_counters drop column players');
    this.count('regular', 'beta');
    this.addSql('alter table plays drop column mode');
  }

  /**
   * Recounts plays and accepted scores of some modes. If beta mode is excluded, a score that names no play in regular mode counts as a play of its
   * own.
   */
  private count(...modes: string[]): void {
    const counts = (row: string) => `${row}.mode in (${modes.map((mode) => `'${mode}'`).join(', ')})`;
    const ownPlays = modes.includes('beta')
      ? ''
      : `union all select s.game_id, count(*), 0, 0 from scores s left join plays p on p.id = s.play_id and ${counts('p')}
         where ${counts('s')} and p.id is null group by 1`;
    this.addSql('update game_counters set plays = 0, scores = 0, score_sum = 0');
    this.addSql(`
      insert into game_counters as c (game_id, shard, plays, scores, score_sum)
      select game_id, 0, sum(plays), sum(scores), sum(score_sum) from (
        select p.game_id, count(*) as plays, 0 as scores, 0 as score_sum from plays p where ${counts('p')} group by 1
        ${ownPlays}
        union all select s.game_id, 0, count(*), sum(s.normalized) from scores s where ${counts('s')} and s.status = 'accepted' group by 1) t
      group by game_id
      on conflict (game_id, shard) do update set plays = excluded.plays, scores = excluded.scores, score_sum = excluded.score_sum`);
  }
}
