import { Migration } from '@mikro-orm/migrations';

/** Stores what settlements and roots need after a database was restored: heights of the chain, other roots on the chain, and the keys of the service. */
export class Migration0034RestoredRoots extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // No transaction that was signed before the settlement was requested can land after the finalized block height `settle_after_height`.
    // `settle_root` is the root on the chain that the operator wants to settle although it differs from the root of the epoch.
    this.addSql('alter table epochs add column settle_after_height bigint, add column settle_root bytea');

    // Root, total and number of leaves of the account on the chain; null when they equal those of the epoch.
    this.addSql('alter table epoch_accounts add column other_root bytea, add column other_total token_amount, add column other_leaves int');
    this.addSql('alter table epoch_accounts add check (num_nulls(other_root, other_total, other_leaves) in (0, 3))');

    // The one row says for which database server and with which keys the service worked last. `doubt` says why roots are paused until the chain
    // explains the record; `after_height` is the finalized block height after which nothing that was signed before the doubt can land. `stop` says
    // why nothing at all is signed; `other_keys` are then the keys that a worker has instead of `keys`.
    this.addSql(`
      create table chain_record (
        singleton boolean primary key default true,
        system_identifier text,
        timeline int,
        keys jsonb,
        doubt text,
        after_height bigint,
        stop text,
        other_keys jsonb,
        accepted_by text,
        checked_at timestamptz,
        check (singleton)
      )`);
    this.addSql('insert into chain_record default values');
  }

  override down(): void {
    this.addSql('drop table chain_record');
    this.addSql('alter table epoch_accounts drop column other_root, drop column other_total, drop column other_leaves');
    this.addSql('alter table epochs drop column settle_after_height, drop column settle_root');
  }
}
