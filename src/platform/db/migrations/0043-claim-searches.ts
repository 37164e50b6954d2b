import { Migration } from '@mikro-orm/migrations';

/**
 * Creates the table of claims whose signatures are searched, and starts the search for the claims that have no signature. Gives each page of an import a
 * mark that its wallets were compared with the chain.
 */
export class Migration0043ClaimSearches extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // The transaction history of the wallet's token account is read from the newest transaction back. `slot` is a finalized slot at which the leaf was
    // claimed. `before` is the signature of the oldest transaction that was read; null at the beginning.
    this.addSql(`
      create table claim_searches (
        claim uuid primary key references claims (id),
        slot bigint not null,
        before text collate "C",
        next_at timestamptz not null default app_now()
      )`);
    this.addSql('create index claim_searches_due on claim_searches (next_at)');
    this.addSql(`insert into claim_searches (claim, slot) select id, 0 from claims where state = 'claimed' and signature is null`);
    this.addSql('alter table reward_import_pages add column checked boolean not null default false');
  }

  override down(): void {
    this.addSql('alter table reward_import_pages drop column checked');
    this.addSql('drop table claim_searches');
  }
}
