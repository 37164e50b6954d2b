import { Migration } from '@mikro-orm/migrations';

const PERIODS = ['day', 'week', 'month', 'year'];

/**
 * Creates the tables for the ledger of points, the standings that are computed from the ledger, the final ranks of closed periods, and activities.
 */
export class Migration0002Points extends Migration {
  override up(): void {
    // One row per wallet that has ever signed in. A transaction that records scores of a wallet locks the wallet's row, so that transactions for the
    // same wallet run one after the other.
    this.addSql(`
      create table players (
        wallet wallet primary key,
        mode text not null default 'regular' check (mode in ('regular', 'beta')),
        banned_at timestamptz,
        ban_reason text,
        scores_voided_at timestamptz,
        earned_day int not null default 0,
        earned int not null default 0 check (earned >= 0),
        earned_by_game jsonb not null default '{}',
        created_at timestamptz not null default app_now()
      ) with (fillfactor = 70)`);
    this.addSql(`create index players_to_void on players (banned_at) where banned_at is not null and scores_voided_at is null`);

    // `kind` says how the wallet got the points, and decides which boards count them. `reason` says why the row was written. `rewards` says whether
    // the points count for reward epochs.
    this.addSql(`
      create table ledger (
        wallet wallet not null,
        mode text not null check (mode in ('regular', 'beta')),
        kind text not null check (kind in ('game', 'quest', 'referral', 'conversion')),
        reason text not null,
        source text not null,
        source_id text collate "C" not null,
        points bigint not null check (points <> 0),
        rewards boolean not null,
        factors jsonb,
        day int not null,
        at timestamptz not null,
        primary key (source_id, source, wallet, reason, mode)
      )`);
    this.addSql(`create index ledger_wallet on ledger (wallet, at desc)`);
    this.addSql(`create index ledger_day on ledger using brin (day) with (pages_per_range = 16)`);
    this.addSql(`create trigger ledger_append_only before update or delete on ledger for each row execute function refuse_change()`);
    this.addSql(`create trigger ledger_no_truncate before truncate on ledger execute function refuse_change()`);

    // A standing is the value of a wallet on a board: a sum of points (boards 'global', 'quests', 'referrals') or a best score (board 'game:<id>').
    // Each period (day, week, month, year) has four columns, for example:
    //   `day`: the number of the newest day that has a value.
    //   `day_value`: the value of this day.
    //   `day_before`: the number of the newest earlier day that has a value; null when no earlier day has one.
    //   `day_before_value`: the value of this earlier day.
    // The values have no index, because each new score would also have to update the index. Redis sorts the boards.
    this.addSql(`
      create table standings (
        board text collate "C" not null,
        mode text not null,
        wallet wallet not null,
        version bigint not null,
        total bigint not null,
        ${PERIODS.flatMap((p) => [`${p} int not null`, `${p}_value bigint not null`, `${p}_before int`, `${p}_before_value bigint`]).join(', ')},
        primary key (board, mode, wallet)
      ) with (fillfactor = 70)`);

    // Sums of points per day. The points of a day are spread over several rows (column `shard`), so that concurrent transactions do not wait for the
    // same row.
    this.addSql(`
      create table point_totals (
        day int not null, shard smallint not null, mode text not null, kind text not null,
        points bigint not null, entries bigint not null,
        primary key (day, shard, mode, kind)
      ) with (fillfactor = 50)`);

    // Versions of standings that Redis may not contain yet. A transaction that writes a standing inserts a row with the new version of the standing.
    // The row is deleted when the board in Redis contains this version.
    this.addSql(`
      create table board_refreshes (
        board text collate "C" not null, wallet wallet not null, version bigint not null, at timestamptz not null default app_now(),
        primary key (board, wallet, version)
      )`);

    this.addSql(`
      create table closed_periods (
        period text not null check (period in ('day', 'week', 'month', 'year')),
        bucket int not null,
        closed_at timestamptz not null default app_now(),
        finals_at timestamptz,
        primary key (period, bucket)
      )`);
    this.addSql(`
      create table finals (
        board text collate "C" not null, period text not null, bucket int not null,
        position int not null, rank int not null, wallet wallet not null, value bigint not null,
        primary key (board, period, bucket, position)
      )`);
    this.addSql(`create unique index finals_wallet on finals (board, period, bucket, wallet)`);

    // Actions of wallets (such as a score or a burn). `source_id` is the id of the action (such as the id of the score). The primary key prevents a
    // second activity for the same action.
    this.addSql(`
      create table activities (
        kind text not null,
        source_id text collate "C" not null,
        wallet wallet not null,
        game_id text,
        amount bigint not null default 0,
        day int not null,
        at timestamptz not null,
        primary key (source_id, kind)
      )`);
  }
}
