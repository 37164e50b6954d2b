import { Migration } from '@mikro-orm/migrations';

/** Adds appeals of wallets, and the reasons of decisions about messages, authors and clips. */
export class Migration0047Appeals extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `case_id` is the score, clip or message; null for a ban, and for a mute or ban in chat. `since` is the time of the contested decision, so that a
    // wallet can answer each decision once.
    this.addSql(`
      create table appeals (
        id uuid primary key,
        wallet wallet not null references players (wallet),
        kind text not null check (kind in ('score', 'ban', 'clip', 'chat')),
        case_id uuid,
        since timestamptz not null,
        text text not null,
        at timestamptz not null default app_now(),
        status text not null default 'open' check (status in ('open', 'granted', 'refused')),
        answer text,
        decided_by text,
        decided_at timestamptz,
        check (case kind when 'score' then case_id is not null when 'clip' then case_id is not null when 'ban' then case_id is null else true end),
        check ((status = 'open') = (decided_at is null) and (status = 'open') = (decided_by is null) and (status = 'open') = (answer is null))
      )`);
    this.addSql('create unique index appeals_cause on appeals (wallet, kind, case_id, since) nulls not distinct');
    this.addSql('create index appeals_case on appeals (case_id, id) where case_id is not null');
    this.addSql('create index appeals_status on appeals (status, id)');
    this.addSql('create index appeals_wallet on appeals (wallet, id desc)');

    this.addSql('alter table chat_messages add deleted_reason text');
    this.addSql('create index chat_messages_wallet on chat_messages (wallet, seq desc) where wallet is not null');
    this.addSql('alter table chat_sanctions add reason text');
    this.addSql('alter table clips add removed_at timestamptz(3), add removed_reason text');
    this.addSql('create index clips_own on clips (wallet, created_at desc, id desc)');
    // Lists of scores that are not accepted. Accepted scores are listed by wallet only, so they need no index here.
    this.addSql(`create index scores_refused on scores (status, at, id) where status in ('rejected', 'voided')`);
  }

  override down(): void {
    this.addSql('drop index scores_refused');
    this.addSql('drop index clips_own');
    this.addSql('alter table clips drop removed_at, drop removed_reason');
    this.addSql('alter table chat_sanctions drop reason');
    this.addSql('drop index chat_messages_wallet');
    this.addSql('alter table chat_messages drop deleted_reason');
    this.addSql('drop table appeals');
  }
}
