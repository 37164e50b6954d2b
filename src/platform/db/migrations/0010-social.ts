import { Migration } from '@mikro-orm/migrations';

/** Creates the table of linked accounts on other platforms. */
export class Migration0010Social extends Migration {
  override up(): void {
    // An account is linked to one wallet, and a wallet has at most one account per platform. `account_id` never changes on the platform. `handle` is
    // the name that the platform shows; another account may take over the name.
    this.addSql(`
      create table linked_accounts (
        platform text collate "C" not null check (platform ~ '^[a-z0-9-]{1,32}$'),
        account_id text collate "C" not null check (account_id <> ''),
        handle text not null check (handle <> ''),
        wallet wallet not null,
        linked_at timestamptz not null default app_now(),
        primary key (platform, account_id),
        unique (wallet, platform)
      )`);
    this.addSql(`create index linked_accounts_handle on linked_accounts (platform, lower(handle))`);
  }
}
