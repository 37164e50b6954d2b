import { Migration } from '@mikro-orm/migrations';

/** Creates the table for one-time events of the arcade. Adds columns for listing and replaying webhook deliveries, and for the reported status of payments. */
export class Migration0023ArcadeEvents extends Migration {
  override up(): void {
    this.addSql(`
      create table arcade_events (
        id uuid primary key,
        name text not null,
        payload jsonb,
        starts_at timestamptz not null,
        ends_at timestamptz not null check (ends_at > starts_at)
      )`);
    this.addSql(`create index arcade_events_ends_at on arcade_events (ends_at)`);

    // `replayed_at` is the time at which an operator last replayed the webhook delivery. Attempts are counted from this time.
    this.addSql(`alter table webhook_deliveries add column replayed_at timestamptz`);
    this.addSql(`create index webhook_deliveries_source on webhook_deliveries (source, received_at)`);
    this.addSql(`create index webhook_deliveries_failed on webhook_deliveries (received_at) where state = 'failed'`);

    // `reported` is the status of the payment in its newest report. It may differ from `state`, because the retry of a failed payment changes only
    // `state`.
    this.addSql(`alter table payments add column reported text`);
  }
}
