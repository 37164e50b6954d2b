import { Migration } from '@mikro-orm/migrations';

/** Consumers of what wallets did: each sets its mark in the transaction of its effect. */
export class Migration0015Activities extends Migration {
  override up(): void {
    // consumed: the bits of the consumers that are done with it (1 referrals, 2 quests). What was there before any of them counts as done.
    this.addSql('alter table activities add column consumed smallint not null default 3');
    this.addSql('alter table activities alter column consumed set default 0');
    this.addSql('create index activities_open on activities (at) where consumed <> 3');
    this.addSql('create index activities_wallet on activities (wallet, kind, day)');
    // What a consumer could not do anything about; for people.
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
