import { Migration } from '@mikro-orm/migrations';

/** Several live attempts, each with a higher fee, for transactions whose effect an account on the chain guards. */
export class Migration0050FeeMarket extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `place` numbers the live attempts of a transaction, so that the unique index below allows at most three of them, and one for a payout. `price` is
    // the priority price. `costs` is the list of `{ asset, amount }` that the attempt spends if it lands; `spends` is the part of the costs that this
    // attempt has reserved. Both new columns are null for attempts that were signed before this migration; such an attempt has reserved all its costs.
    this.addSql(`
      alter table chain_attempts
        add column place smallint not null default 1 check (place between 1 and 3),
        add column price bigint,
        add column costs jsonb,
        add check (place = 1 or (nonce is null and priority <> 'payouts'))`);
    this.addSql('drop index chain_attempts_live');
    this.addSql(`create unique index chain_attempts_live on chain_attempts (transaction_id, place) where state in ('signed', 'sent', 'confirmed')`);
  }

  /** Precondition: no transaction has several live attempts; otherwise the unique index cannot be created. */
  override down(): void {
    this.addSql('drop index chain_attempts_live');
    this.addSql('alter table chain_attempts drop column place, drop column price, drop column costs');
    this.addSql(`create unique index chain_attempts_live on chain_attempts (transaction_id) where state in ('signed', 'sent', 'confirmed')`);
  }
}
