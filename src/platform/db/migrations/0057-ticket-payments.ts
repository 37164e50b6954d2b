import { Migration } from '@mikro-orm/migrations';

/** Creates the tables of the reader that finds payments for tickets on the chain, and marks the tickets that it records. */
export class Migration0057TicketPayments extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.addSql(`
      create table ticket_scans (
        account text collate "C" primary key,
        done_slot bigint not null default 0,
        head_slot bigint,
        before text collate "C",
        relist_at timestamptz not null default app_now(),
        check ((head_slot is null) = (before is null))
      )`);
    this.addSql(`
      create table ticket_payments (
        signature text collate "C" primary key,
        round uuid not null references rounds (id),
        slot bigint not null,
        tries integer not null default 0,
        next_at timestamptz not null default app_now() + interval '5 seconds',
        found_at timestamptz not null default app_now(),
        read_at timestamptz
      )`);
    this.addSql('create index ticket_payments_read on ticket_payments (read_at) where read_at is not null');
    this.addSql('create index ticket_payments_unread on ticket_payments (round, slot) where read_at is null');
    // Whether the wallet requested the ticket. False: the service found its payment on the chain.
    this.addSql('alter table tickets add column requested boolean not null default true');
  }

  override down(): void {
    this.addSql('alter table tickets drop column requested');
    this.addSql('drop table ticket_payments');
    this.addSql('drop table ticket_scans');
  }
}
