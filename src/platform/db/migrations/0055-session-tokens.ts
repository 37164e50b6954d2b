import { Migration } from '@mikro-orm/migrations';

/** Adds sessions that clients send as a Bearer token, and tickets with which a page opens a WebSocket for a session. */
export class Migration0055SessionTokens extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.addSql(`
      alter table sessions
        add column transport text not null default 'cookie' check (transport in ('cookie', 'bearer')),
        add column origin text,
        add check (transport = 'cookie' or expires_at <= created_at + interval '24 hours'),
        add check (origin is null or transport = 'bearer')`);
    this.addSql(`
      create table session_tickets (
        key bytea primary key,
        session_key bytea not null,
        expires_at timestamptz not null
      )`);
    this.addSql('create index session_tickets_expires_at on session_tickets (expires_at)');
  }

  override down(): void {
    this.addSql('drop table session_tickets');
    // A process of the earlier release would not know that these sessions are bound to an origin.
    this.addSql(`delete from sessions where transport = 'bearer'`);
    this.addSql('alter table sessions drop column origin, drop column transport');
  }
}
