import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for pending account links, unlinked accounts, and engagement of accounts that are not linked yet. */
export class Migration0021SocialLinks extends Migration {
  override up(): void {
    // `confirmed_at` is the last time at which the handle was known to belong to the account. A handle may move to another account, and reports about
    // the move arrive in any order; this time shows which report is newer.
    this.addSql(`alter table linked_accounts add column confirmed_at timestamptz not null default app_now()`);
    this.addSql(`update linked_accounts set confirmed_at = linked_at`);

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
}
