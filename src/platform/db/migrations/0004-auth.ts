import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for sign-in nonces and sessions. */
export class Migration0004Auth extends Migration {
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

    // `key` is the SHA-256 of the session id in the cookie. A person who reads this table cannot compute the session id from `key`, and so cannot
    // take over a session.
    this.addSql(`
      create table sessions (
        key bytea primary key,
        wallet wallet not null,
        created_at timestamptz not null,
        extended_at timestamptz not null,
        expires_at timestamptz not null check (expires_at <= created_at + interval '720 hours')
      ) with (fillfactor = 85)`);
    this.addSql(`create index sessions_wallet on sessions (wallet)`);
    this.addSql(`create index sessions_expires_at on sessions (expires_at)`);
  }
}
