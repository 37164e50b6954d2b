import { Migration } from '@mikro-orm/migrations';

/** Gives each committer key its own sequence of commitment numbers, so that operators can replace an abused key by a new key. */
export class Migration0027Committers extends Migration {
  override up(): void {
    this.addSql('alter table commitments drop constraint commitments_check, drop constraint commitments_pkey');
    // If the newest commitment is not finalized, its committer (the key that signs it) is unknown. The migration then takes the last signer of the
    // newest attempt to submit the commitment. If there is no attempt, it takes the committer of the newest finalized commitment.
    this.addSql(`
      update commitments c set committer = coalesce(
        (select a.signers[array_upper(a.signers, 1)] from chain_transactions t join chain_attempts a on a.transaction_id = t.id
         where t.kind = 'draw-commitment' and t.subject = c.round::text order by a.n desc limit 1),
        (select l.committer from commitments l where l.memo is not null order by l.sequence desc limit 1))
      where committer is null`);
    this.addSql('delete from commitments where committer is null');
    this.addSql('alter table commitments alter column committer set not null, add primary key (committer, sequence)');
    this.addSql(`
      alter table commitments add constraint commitments_landed check (num_nulls(memo, hash, signature, slot, blockhash, block_time) in (0, 6))`);
    this.addSql('create index commitments_first on commitments (slot) where sequence = 1');
  }
}
