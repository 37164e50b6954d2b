import { Migration } from '@mikro-orm/migrations';

/**
 * Adds to each activity one mark per consumer (a part of the service that processes every activity once). A consumer sets its mark in the same
 * transaction in which it processes the activity.
 */
export class Migration0015Activities extends Migration {
  override up(): void {
    // `consumed` has one bit per consumer (1 = referrals, 2 = quests). A bit is set when its consumer has processed the activity. Activities from
    // before this migration count as processed.
    this.addSql('alter table activities add column consumed smallint not null default 3');
    this.addSql('alter table activities alter column consumed set default 0');
    this.addSql('create index activities_open on activities (at) where consumed <> 3');
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
  }
}
