import { Migration } from '@mikro-orm/migrations';

/** Adds the rules for wallets that paid rounds and prizes in stablecoin have: the deny list, self-exclusions and accepted terms. */
export class Migration0046Restrictions extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // The one row is the deny list that was loaded last. `denied_wallets` has its wallets.
    this.addSql(`
      create table deny_list (
        singleton boolean primary key default true check (singleton),
        sha256 bytea not null check (length(sha256) = 32),
        changed_at timestamptz not null default app_now(),
        loaded_at timestamptz not null default app_now()
      )`);
    this.addSql('create table denied_wallets (wallet wallet primary key, since timestamptz not null default app_now())');
    // A wallet can prolong its exclusion, and begin a new one after its end.
    this.addSql(`
      create table exclusions (
        wallet wallet primary key references players (wallet),
        since timestamptz not null,
        until timestamptz not null check (until > since)
      )`);
    this.addSql('create trigger exclusions_kept before delete on exclusions for each row execute function refuse_change()');
    this.addSql(`
      create table accepted_terms (
        wallet wallet references players (wallet),
        version text collate "C",
        at timestamptz not null default app_now(),
        primary key (wallet, version)
      )`);
    this.addSql('create trigger accepted_terms_kept before delete or update on accepted_terms for each row execute function refuse_change()');
  }

  override down(): void {
    this.addSql('drop table accepted_terms, exclusions, denied_wallets, deny_list');
  }
}
