import { Migration } from '@mikro-orm/migrations';

const PERIODS = ['day', 'week', 'month', 'year'];

/** Creates the tables for the ledger of points, the standings that are computed from the ledger, the final ranks of closed periods, and activities. */
export class Migration0002Points extends Migration {
  override up(): void {
    // One row per wallet that has ever signed in. A transaction that records scores of a wallet locks the wallet's row, so that transactions for the
    // same wallet run one after the other. Columns:
    //   `tally`: the number and the points of the wallet's accepted scores per mode and game, as { regular: { <game id>: { scores, points } }, beta:
    //   … }. It is stored in the player row, because the transaction of a score locks and writes this row anyway.
    //   `converted_beta`: the sum of the beta points that the wallet has converted.
    //   `converted_points`: the sum of the points that the wallet got for these beta points.
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
        tally jsonb not null default '{}',
        converted_beta bigint not null default 0 check (converted_beta >= 0),
        converted_points bigint not null default 0 check (converted_points >= 0),
        created_at timestamptz not null default app_now()
      ) with (fillfactor = 70)`);
    this.addSql(`create index players_to_void on players (banned_at) where banned_at is not null and scores_voided_at is null`);

    // Returns the UTC day of a cause; 0 for a cause without a time. The day depends on the id of the cause alone, so a retry on a later day gets the
    // same day, and the primary keys of `ledger` and `activities` may contain the day. Both tables can therefore be partitioned by `cause_day` later,
    // because a unique key of a partitioned table must contain the column of the partitions. The column is not generated, because PostgreSQL partitions
    // no table by a generated column and would plan its expression in each insert; `bin/audit` checks the stored days. Time of a cause, by its type:
    //   a play, score, void, clip or conversion: the time in its id, a UUIDv7.
    //   a burn: the date of its block, at the end of its id.
    //   a quest: the date or the Monday of the ISO week at the end of its id; 0 for a quest that can be completed only once.
    //   every other cause (such as a link of an account): 0.
    // A later migration may add a type of cause, but the day of a known cause must never change: a retry would then no longer find its earlier row.
    this.addSql(`
      create function cause_day(cause text, source_id text) returns int language sql immutable parallel safe as $$
        select case
          when cause in ('play', 'score', 'void', 'clip', 'conversion') and source_id like '________-____-7%'
            then (('x' || substr(source_id, 1, 8) || substr(source_id, 10, 4))::bit(48)::bigint / 86400000)::int
          when cause in ('quest', 'burn') and source_id ~ ':[0-9]{4}-[0-9]{2}-[0-9]{2}$'
            then make_date(left(right(source_id, 10), 4)::int, left(right(source_id, 5), 2)::int, right(source_id, 2)::int) - date '1970-01-01'
          when cause = 'quest' and source_id ~ ':[0-9]{4}-W[0-9]{2}$'
            then date_trunc('week', make_date(left(right(source_id, 8), 4)::int, 1, 4)::timestamp)::date
                 + 7 * (right(source_id, 2)::int - 1) - date '1970-01-01'
          else 0 end $$`);

    // `kind` says how the wallet got the points, and decides which boards count them. `reason` says why the row was written. `rewards` says whether
    // the points count for reward epochs. (`source`, `source_id`) is the cause: the score, quest window or conversion. `cause_day` is the UTC day of
    // the cause, while `day` is the day on which the row was written.
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
        cause_day int not null,
        primary key (source_id, source, wallet, reason, mode, cause_day)
      )`);
    this.addSql(`create index ledger_wallet on ledger (wallet, at desc)`);
    this.addSql(`create index ledger_quests on ledger (wallet, at desc, source_id desc) where kind = 'quest' and source = 'quest'`);
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
    // second activity for the same action. `battle_id` is the battle for which a score was submitted; null for other activities. `batch` is the id of
    // the activity's batch in `activity_batches`.
    this.addSql(`
      create table activities (
        kind text not null,
        source_id text collate "C" not null,
        wallet wallet not null,
        game_id text,
        amount bigint not null default 0,
        battle_id uuid,
        day int not null,
        at timestamptz not null,
        batch bigint not null,
        cause_day int not null,
        primary key (source_id, kind, cause_day)
      )`);
    this.addSql('create index activities_wallet on activities (wallet, kind, day)');
    // Activities that a consumer could not process. Operators read this table.
    this.addSql(`
      create table activity_failures (
        consumer text not null,
        kind text not null,
        source_id text collate "C" not null,
        error text not null,
        at timestamptz not null default app_now(),
        primary key (consumer, kind, source_id)
      )`);
    // A batch is one row that holds all activities of a transaction. Consumers find, mark and delete only this row, so activities are never updated.
    // `activities` is an array of [kind, source id, wallet, game, amount as text, battle]; consumers need no other table. `consumed` has one bit per
    // consumer (1 = referrals, 2 = quests, 4 = battles). A bit is set when its consumer has processed the batch. A batch with all bits set is
    // deleted.
    this.addSql('create sequence activity_batches_id as bigint');
    this.addSql(`
      create table activity_batches (
        id bigint primary key,
        consumed smallint not null default 0,
        size int not null check (size > 0),
        day int not null,
        at timestamptz not null,
        activities json not null
      )`);
    // Batches are stored uncompressed, because they are deleted so soon that compression would cost more than it saves.
    this.addSql('alter table activity_batches alter column activities set storage external');
  }

  override down(): void {
    this.addSql('drop table activity_batches, activity_failures, activities');
    this.addSql('drop sequence activity_batches_id');
    this.addSql('drop table finals, closed_periods, board_refreshes, point_totals');
    this.addSql('drop table standings, ledger, players');
    this.addSql('drop function cause_day');
  }
}
