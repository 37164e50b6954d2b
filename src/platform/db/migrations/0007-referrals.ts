import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for referral links, referrals, and the points that referrals earned. */
export class Migration0007Referrals extends Migration {
  override up(): void {
    // Referral links of a wallet. `n` numbers the links of a wallet in the order of their creation. The service shows the newest link; the codes of
    // older links still work.
    this.addSql(`
      create table referral_links (
        wallet wallet not null,
        n int not null check (n between 1 and 20),
        code text collate "C" not null unique check (code ~ '^[0-9A-HJKMNP-TV-Z]{8}$'),
        created_at timestamptz not null default app_now(),
        primary key (wallet, n)
      )`);

    // The referrer of a wallet. A wallet has at most one row, which is never deleted. Columns:
    //   `verified_at`: the time from which scores of the wallet earn points for the referrer.
    //   `last_scored_at`: the time of the wallet's last accepted score since `bound_at`.
    //   `points`, `beta_points`: the points that the referrer earned from this wallet's scores, minus voided points. Both are sums of ledger rows;
    //   they are stored, so that no query has to add up the rows.
    this.addSql(`
      create table referrals (
        wallet wallet primary key,
        referrer wallet not null check (referrer <> wallet),
        code text collate "C" not null references referral_links (code),
        bound_at timestamptz not null default app_now(),
        verified_at timestamptz,
        last_scored_at timestamptz,
        points bigint not null default 0,
        beta_points bigint not null default 0
      ) with (fillfactor = 70)`);
    this.addSql(`create index referrals_referrer on referrals (referrer, bound_at desc, wallet)`);

    // Referral points of a referrer per day. `used` is the number of points that count against the daily cap, in both modes (regular and beta);
    // voided points stay counted. `points` is the number of regular points, minus the points that were voided on that day.
    this.addSql(`
      create table referral_days (
        referrer wallet not null,
        day int not null,
        used int not null default 0 check (used >= 0),
        points bigint not null default 0,
        primary key (referrer, day)
      ) with (fillfactor = 70)`);
  }

  override down(): void {
    this.addSql('drop table referral_days, referrals, referral_links');
  }
}
