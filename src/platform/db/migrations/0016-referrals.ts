import { Migration } from '@mikro-orm/migrations';

/** Creates referral links, referrals, and the points that they earned. */
export class Migration0016Referrals extends Migration {
  override up(): void {
    // Links of a wallet in the order of their creation. The newest is shown; all codes work.
    this.addSql(`
      create table referral_links (
        wallet wallet not null,
        n int not null check (n between 1 and 20),
        code text collate "C" not null unique check (code ~ '^[0-9A-HJKMNP-TV-Z]{8}$'),
        created_at timestamptz not null default app_now(),
        primary key (wallet, n)
      )`);

    // At most one row per wallet, never deleted. verified_at: from when on its scores earn points for the referrer. last_scored_at: its last accepted
    // score since it was bound. points, beta_points: points of the referrer from this wallet's scores, minus voided ones; sums of ledger rows, stored
    // to avoid adding them up.
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

    // Points of a referrer per day. used: points counted against the daily cap, in both modes; a void does not reduce it. points: regular points
    // minus those voided on that day.
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
