import { Migration } from '@mikro-orm/migrations';

/** Priority classes of Solana transactions: their queues, their shares of the daily limits, and the fees of attempts. */
export class Migration0032Priorities extends Migration {
  override up(): void {
    // `priority` is the class of a transaction. `caller` is the wallet that caused the transaction; null for a transaction of the service or of an
    // operator. `rank` is the number of pending transactions of the caller when the transaction was submitted.
    this.addSql(`
      alter table chain_transactions
        add column priority text not null default 'claims' check (priority in ('commitments', 'roots', 'payouts', 'claims')),
        add column caller text collate "C",
        add column rank int not null default 1 check (rank > 0)`);
    this.addSql(`
      update chain_transactions set priority = case
        when kind = 'draw-commitment' then 'commitments'
        when kind in ('epoch-root', 'epoch-settle', 'epoch-close', 'epoch-page-close') then 'roots' else 'payouts' end
      where kind <> 'claim'`);
    this.addSql('drop index chain_transactions_due');
    this.addSql(`create index chain_transactions_due on chain_transactions (priority, next_at) where state = 'queued'`);
    this.addSql(`create index chain_transactions_caller on chain_transactions (caller) where state in ('queued', 'live') and caller is not null`);

    // `priority` is a copy of the transaction's, so that the pending attempts of one class are found by an index. `fee` is null for attempts that were
    // signed before this migration.
    this.addSql(`
      alter table chain_attempts
        add column priority text not null default 'claims' check (priority in ('commitments', 'roots', 'payouts', 'claims')),
        add column fee bigint`);
    this.addSql(
      `update chain_attempts a set priority = t.priority from chain_transactions t where t.id = a.transaction_id and t.priority <> 'claims'`,
    );
    this.addSql('drop index chain_attempts_pending');
    this.addSql(`create index chain_attempts_pending on chain_attempts (priority, poll_at) where state in ('signed', 'sent', 'confirmed')`);

    // The daily outflow is counted per class. It is computed again from the attempts, which are never deleted.
    this.addSql('delete from chain_outflows');
    this.addSql('alter table chain_outflows drop constraint chain_outflows_pkey');
    this.addSql(`alter table chain_outflows add column priority text not null check (priority in ('commitments', 'roots', 'payouts', 'claims'))`);
    this.addSql('alter table chain_outflows add primary key (day, asset, priority)');
    this.addSql(`
      insert into chain_outflows (day, asset, priority, reserved)
      select a.spend_day, s->>'asset', a.priority, sum((s->>'amount')::numeric)
      from chain_attempts a, jsonb_array_elements(a.spends) s
      where a.state <> 'dead' and (a.state <> 'failed' or s->>'asset' = 'sol') group by 1, 2, 3`);
  }

  override down(): void {
    this.addSql('create temporary table outflows_of_all as select day, asset, sum(reserved) as reserved from chain_outflows group by 1, 2');
    this.addSql('delete from chain_outflows');
    this.addSql('alter table chain_outflows drop constraint chain_outflows_pkey');
    this.addSql('alter table chain_outflows drop column priority');
    this.addSql('alter table chain_outflows add primary key (day, asset)');
    this.addSql('insert into chain_outflows (day, asset, reserved) select day, asset, reserved from outflows_of_all');
    this.addSql('drop table outflows_of_all');
    this.addSql('drop index chain_attempts_pending');
    this.addSql('alter table chain_attempts drop column priority, drop column fee');
    this.addSql(`create index chain_attempts_pending on chain_attempts (poll_at) where state in ('signed', 'sent', 'confirmed')`);
    this.addSql('drop index chain_transactions_caller');
    this.addSql('drop index chain_transactions_due');
    this.addSql('alter table chain_transactions drop column priority, drop column caller, drop column rank');
    this.addSql(`create index chain_transactions_due on chain_transactions (next_at) where state = 'queued'`);
  }
}
