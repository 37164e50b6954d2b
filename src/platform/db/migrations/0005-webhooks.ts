import { Migration } from '@mikro-orm/migrations';

/** Creates the table for webhook deliveries. */
export class Migration0005Webhooks extends Migration {
  override up(): void {
    // `body` contains the raw bytes of the delivery. `body_hash` is the SHA-256 of `body`. The row of a processed delivery is kept, so that the
    // service recognizes a repeated delivery.
    this.addSql(`
      create table webhook_deliveries (
        source text not null,
        id text collate "C" not null,
        body_hash bytea not null,
        body bytea not null,
        received_at timestamptz not null default app_now(),
        state text not null default 'received' check (state in ('received', 'worked', 'failed')),
        attempts int not null default 0 check (attempts >= 0),
        verdict text,
        settled_at timestamptz,
        primary key (source, id),
        check ((state = 'received') = (settled_at is null))
      )`);
    // Index of deliveries that wait for processing. A recurring sweep enqueues the jobs of these deliveries again, and operators list the deliveries.
    this.addSql(`create index webhook_deliveries_waiting on webhook_deliveries (received_at) where state = 'received'`);
    this.addSql(`create index webhook_deliveries_received_at on webhook_deliveries (received_at)`);
  }
}
