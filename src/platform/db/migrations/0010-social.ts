import { Migration } from '@mikro-orm/migrations';

/** Accounts elsewhere that belong to a wallet. */
export class Migration0010Social extends Migration {
  override up(): void {
    // An account belongs to one wallet, and a wallet has one account per platform. account_id is what the platform never changes; the handle
    // is what people see, and may pass to somebody else there.
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
