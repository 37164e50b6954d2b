import { Migration } from '@mikro-orm/migrations';

/** Adds the log of erasures and the deletions of accounts. */
export class Migration0048Privacy extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `subject` is the id that the request named: of a record, clip or message, `<wallet>/<game>` of a state, or a wallet for its names.
    this.addSql(`
      create table erasures (
        id uuid primary key,
        kind text not null check (kind in ('record', 'state', 'clip', 'chat', 'name')),
        subject text collate "C" not null,
        reason text not null check (reason <> ''),
        by text not null,
        at timestamptz not null default app_now()
      )`);
    this.addSql('create index erasures_newest on erasures (at desc, id desc)');
    this.addSql('create trigger erasures_append_only before update or delete or truncate on erasures execute function refuse_change()');
    // A row is the last request of a wallet to delete its account. The job deletes only rows that are older than the request.
    this.addSql(`
      create table account_deletions (
        wallet wallet primary key references players (wallet),
        requested_at timestamptz not null,
        completed_at timestamptz
      )`);
    // The export of a wallet's data reads these tables by wallet.
    this.addSql('create index notifications_wallet on notifications (wallet) where wallet is not null');
    this.addSql('create index unlinked_accounts_wallet on unlinked_accounts (wallet)');
    this.addSql('create index burns_wallet on burns (wallet)');
    this.addSql('create index account_deletions_open on account_deletions (requested_at) where completed_at is null');
  }

  override down(): void {
    this.addSql('drop index burns_wallet, unlinked_accounts_wallet, notifications_wallet');
    this.addSql('drop table account_deletions, erasures');
  }
}
