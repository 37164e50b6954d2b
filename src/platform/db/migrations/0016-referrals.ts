import { Migration } from '@mikro-orm/migrations';

/** Referral links, who was referred by whom, and what it earned. */
export class Migration0016Referrals extends Migration {
  override up(): void {
    // A wallet's links in the order that they were made; the last one is its link, the codes of all of them work.
    this.addSql(`
      create table referral_links (
        wallet wallet not null,
        n int not null check (n between 1 and 20),
        code text collate "C" not null unique check (code ~ '^[0-9A-HJKMNP-TV-Z]{8}$'),
        created_at timestamptz not null default app_now(),
        primary key (wallet, n)
      )`);

    // Once per wallet, for good. verified_at: when its scores began to count, last_scored_at: of its accepted scores since it was bound.
    // points, beta_points: what the referrer got for its scores, less what was taken back; sums of ledger rows, kept so that nobody adds them up.
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

    // What a referrer got on the day of the ledger rows. used: of the daily cap, in both modes; a void gives nothing of it back.
    // points: regular points less those taken back that day.
    this.addSql(`
      create table referral_days (
        referrer wallet not null,
        day int not null,
        used int not null default 0 check (used >= 0),
        points bigint not null default 0,
        primary key (referrer, day)
      ) with (fillfactor = 70)`);
  }
}
