import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for linked and unlinked accounts, started account links, and engagement of accounts that are not linked yet. */
export class Migration0006Social extends Migration {
  override up(): void {
    // An account is linked to one wallet, and a wallet has at most one account per platform. `account_id` never changes on the platform. `handle` is
    // the name that the platform shows; another account may take over the name. `confirmed_at` is the last time at which the handle was known to
    // belong to the account. Reports about a handle that moves arrive in any order; this time shows which report is newer.
    this.addSql(`
      create table linked_accounts (
        platform text collate "C" not null check (platform ~ '^[a-z0-9-]{1,32}$'),
        account_id text collate "C" not null check (account_id <> ''),
        handle text not null check (handle <> ''),
        wallet wallet not null,
        linked_at timestamptz not null default app_now(),
        confirmed_at timestamptz not null default app_now(),
        primary key (platform, account_id),
        unique (wallet, platform)
      )`);
    this.addSql(`create index linked_accounts_handle on linked_accounts (platform, lower(handle))`);

    // Account links that a wallet has started. `key` is the SHA-256 of the OAuth state (`method = 'oauth'`) or of the challenge code (`method =
    // 'challenge'`). `secret` is the PKCE code verifier (`oauth`) or the challenge code itself (`challenge`).
    this.addSql(`
      create table link_attempts (
        key bytea primary key,
        wallet wallet not null,
        platform text not null,
        method text not null check (method in ('oauth', 'challenge')),
        secret text not null,
        expires_at timestamptz not null,
        used_at timestamptz
      )`);
    this.addSql(`create index link_attempts_wallet on link_attempts (wallet)`);
    this.addSql(`create index link_attempts_expires_at on link_attempts (expires_at)`);

    // Accounts that are no longer linked, each with the wallet to which it was linked last.
    this.addSql(`
      create table unlinked_accounts (
        platform text collate "C" not null,
        account_id text collate "C" not null,
        wallet wallet not null,
        unlinked_at timestamptz not null,
        primary key (platform, account_id)
      )`);
    this.addSql(`create index unlinked_accounts_unlinked_at on unlinked_accounts (unlinked_at)`);

    // Engagement (follows, reposts, mentions) of accounts that are not linked yet. When the account is linked, the row becomes an activity with the
    // same kind and source_id.
    this.addSql(`
      create table kept_engagements (
        platform text collate "C" not null,
        account_id text collate "C" not null,
        kind text not null check (kind in ('follow', 'repost', 'mention')),
        source_id text collate "C" not null,
        at timestamptz not null default app_now(),
        primary key (platform, account_id, kind, source_id)
      )`);
    this.addSql(`create index kept_engagements_at on kept_engagements (at)`);
  }

  override down(): void {
    this.addSql('drop table kept_engagements, unlinked_accounts, link_attempts, linked_accounts');
  }
}
