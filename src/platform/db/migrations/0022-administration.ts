import { Migration } from '@mikro-orm/migrations';

/** Returns the SQL that replaces the function `cause_day`. @param causes types of causes whose id is a UUIDv7 with the time of the cause */
export const causeDay = (causes: string) => `
      create or replace function cause_day(cause text, source_id text) returns int language sql immutable parallel safe as $$
        select case
          when cause in (${causes}) and source_id like '________-____-7%'
            then (('x' || substr(source_id, 1, 8) || substr(source_id, 10, 4))::bit(48)::bigint / 86400000)::int
          when cause in ('quest', 'burn') and source_id ~ ':[0-9]{4}-[0-9]{2}-[0-9]{2}$'
            then make_date(left(right(source_id, 10), 4)::int, left(right(source_id, 5), 2)::int, right(source_id, 2)::int) - date '1970-01-01'
          when cause = 'quest' and source_id ~ ':[0-9]{4}-W[0-9]{2}$'
            then date_trunc('week', make_date(left(right(source_id, 8), 4)::int, 1, 4)::timestamp)::date
                 + 7 * (right(source_id, 2)::int - 1) - date '1970-01-01'
          else 0 end $$`;

/**
 * Adds the points that operators give and take (kind `adjustment`) and their index, notes about wallets, notifications, and the start times of themes
 * and one-time events.
 */
export class Migration0022Administration extends Migration {
  override up(): void {
    this.addSql('alter table ledger drop constraint ledger_kind_check');
    this.addSql(`alter table ledger add constraint ledger_kind_check check (kind in ('game', 'quest', 'referral', 'conversion', 'adjustment'))`);
    // The id of an adjustment is a UUIDv7, like the score id of a restored score or of a second void. So `cause_day` returns the day of the time in
    // the id. The days of all other causes stay the same.
    this.addSql(causeDay(`'play', 'score', 'void', 'restore', 'second-void', 'clip', 'conversion', 'adjustment'`));
    this.addSql(`create index ledger_adjustments on ledger (wallet, mode, day) include (points) where kind = 'adjustment'`);
    // Adds `reason` and `mode`, so that an index-only scan tells the entries of one window apart: the completions in both modes, and their revocations.
    this.addSql('drop index ledger_quests');
    this.addSql(
      `create index ledger_quests on ledger (wallet, at desc, source_id desc, reason desc, mode) where kind = 'quest' and source = 'quest'`,
    );

    this.addSql(`
      create table wallet_notes (
        id uuid primary key,
        wallet wallet not null references players (wallet),
        text text not null,
        by text not null,
        at timestamptz not null default app_now()
      )`);
    this.addSql('create index wallet_notes_wallet on wallet_notes (wallet, id desc)');

    // `wallet` is null for a notification to all.
    this.addSql(`
      create table notifications (
        id uuid primary key,
        wallet wallet references players (wallet),
        title text not null,
        text text not null,
        link text,
        by text not null,
        at timestamptz not null default app_now()
      )`);

    // A row is a change of the theme that waits for its start, or that could not be applied (`error`). The row of an applied change is deleted; the
    // change is then a version of the theme in `settings`.
    this.addSql(`
      create table scheduled_themes (
        id uuid primary key,
        patch jsonb not null,
        starts_at timestamptz not null,
        error text,
        by text not null,
        at timestamptz not null default app_now()
      )`);
    this.addSql('create index scheduled_themes_due on scheduled_themes (starts_at, id) where error is null');

    // Time at which the event was broadcast; null for an event that begins later. Each stored event was broadcast when it began.
    this.addSql('alter table arcade_events add column broadcast_at timestamptz');
    this.addSql('update arcade_events set broadcast_at = starts_at');
    this.addSql('create index arcade_events_due on arcade_events (starts_at) where broadcast_at is null');
    this.addSql('create index arcade_events_starts_at on arcade_events (starts_at desc, id desc)');
  }

  /** Fails when the ledger has adjustments, because ledger rows are never deleted. */
  override down(): void {
    this.addSql('drop index arcade_events_starts_at');
    this.addSql('alter table arcade_events drop column broadcast_at');
    this.addSql('drop table scheduled_themes, notifications, wallet_notes');
    this.addSql('drop index ledger_quests');
    this.addSql(`create index ledger_quests on ledger (wallet, at desc, source_id desc) where kind = 'quest' and source = 'quest'`);
    this.addSql('drop index ledger_adjustments');
    this.addSql(causeDay(`'play', 'score', 'void', 'clip', 'conversion'`));
    this.addSql('alter table ledger drop constraint ledger_kind_check');
    this.addSql(`alter table ledger add constraint ledger_kind_check check (kind in ('game', 'quest', 'referral', 'conversion'))`);
  }
}
