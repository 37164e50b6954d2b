import { Migration } from '@mikro-orm/migrations';

/** What came by webhook. */
export class Migration0005Webhooks extends Migration {
  override up(): void {
    // body: the bytes as they came, of which body_hash is the SHA-256. A delivery that was worked on stays, so that it is known when it comes again.
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
    // What a sweep rings for again, and what operators list.
    this.addSql(`create index webhook_deliveries_waiting on webhook_deliveries (received_at) where state = 'received'`);
    this.addSql(`create index webhook_deliveries_received_at on webhook_deliveries (received_at)`);
  }
}
