import { Migration } from '@mikro-orm/migrations';

/** Creates the table for sign-in nonces. */
export class Migration0014Auth extends Migration {
  override up(): void {
    // The row of a nonce contains every value of the text that the wallet signs to sign in, so that the nonce stays valid when the configuration
    // changes.
    this.addSql(`
      create table nonces (
        nonce text collate "C" primary key,
        domain text not null,
        uri text not null,
        statement text not null,
        chain_id text not null,
        issued_at timestamptz not null,
        expires_at timestamptz not null,
        consumed_at timestamptz
      )`);
    this.addSql(`create index nonces_expires_at on nonces (expires_at)`);
  }

  override down(): void {
    this.addSql('drop table nonces');
  }
}
