import { Migration } from '@mikro-orm/migrations';
import { causeDay } from './0022-administration.ts';

/** Types of causes before this migration whose id is a UUIDv7. */
const TIMED = `'play', 'score', 'void', 'restore', 'second-void', 'clip', 'conversion', 'adjustment'`;

/** Adds the facts by which scores are reviewed, the points that bans withhold from referrers, and the voids of quest completions. */
export class Migration0045FairPlay extends Migration {
  override up(): void {
    this.addSql(causeDay(`${TIMED}, 'ban', 'unban'`));
    this.addSql(`
      alter table players
        add column last_score_at timestamptz,
        add column overlap_ms int8 not null default 0 check (overlap_ms >= 0)`);
    this.addSql(`create index scores_held_wallet on scores (wallet) where status = 'held'`);
    this.addSql(`
      alter table referrals
        add column withheld int8 not null default 0,
        add column withheld_rewards int8 not null default 0,
        add column beta_withheld int8 not null default 0,
        add column withholdings int not null default 0`);
    this.addSql(`
      alter table quest_completions
        add column voided_points int check (voided_points >= 0),
        add column voids int not null default 0`);
  }

  override down(): void {
    this.addSql('alter table quest_completions drop column voided_points, drop column voids');
    this.addSql('alter table referrals drop column withheld, drop column withheld_rewards, drop column beta_withheld, drop column withholdings');
    this.addSql('drop index scores_held_wallet');
    this.addSql('alter table players drop column last_score_at, drop column overlap_ms');
    this.addSql(causeDay(TIMED));
  }
}
