import { Migration } from '@mikro-orm/migrations';

/** Entry rules of legacy rounds, and commitments of several rounds in one transaction. */
export class Migration0041CarriedCommitments extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `broken_rule`: the entry rule that the wallet did not meet at its request; null when the wallet met all rules.
    this.addSql('alter table tickets add column broken_rule text');
    // `carried`: further transactions whose effects the attempt has too. One transaction may commit several rounds.
    this.addSql(`alter table chain_attempts add column carried uuid[] not null default '{}'`);
    this.addSql('alter table commitments drop constraint commitments_signature_key');
  }

  override down(): void {
    // Of the rounds that one transaction committed, only the first keeps the signature.
    this.addSql(
      'update commitments c set signature = null where exists (select from commitments o where o.signature = c.signature and o.round < c.round)',
    );
    this.addSql('alter table commitments add constraint commitments_signature_key unique (signature)');
    this.addSql('alter table chain_attempts drop column carried');
    this.addSql('alter table tickets drop column broken_rule');
  }
}
