import { Migration } from '@mikro-orm/migrations';

/** Quests and their versions, what wallets did by day, and what they completed. */
export class Migration0017Quests extends Migration {
  override up(): void {
    this.addSql(`
      create table quests (
        id text collate "C" primary key,
        version int not null,
        definition jsonb not null,
        created_at timestamptz not null default app_now(),
        updated_at timestamptz not null default app_now(),
        deleted_at timestamptz
      )`);
    this.addSql(`
      create table quest_versions (
        quest_id text collate "C" not null references quests,
        version int not null,
        definition jsonb not null,
        by text not null,
        at timestamptz not null default app_now(),
        primary key (quest_id, version)
      )`);

    // What a wallet did in a day (span 1) or an ISO week (span 7), from first_day on. subject: the game, or the burn event, or ''.
    // Independent of quests: their progress is computed from it. Weeks make a long window cheap to read.
    this.addSql(`
      create table wallet_metrics (
        wallet wallet not null,
        span smallint not null check (span in (1, 7)),
        first_day int not null,
        kind text collate "C" not null,
        subject text collate "C" not null,
        count int not null,
        best bigint not null,
        sum numeric not null,
        primary key (wallet, span, first_day, kind, subject)
      ) with (fillfactor = 70)`);
    // What counts as consumed already has to be in it.
    this.addSql(`
      insert into wallet_metrics (wallet, span, first_day, kind, subject, count, best, sum)
      select a.wallet, s.span, case s.span when 1 then a.day else a.day - (a.day + 3) % 7 end, a.kind, coalesce(a.game_id, ''),
             count(*), max(a.amount), sum(a.amount)
      from activities a, (values (1), (7)) s(span)
      where a.kind <> 'void' and (a.consumed & 2) = 2
        and not exists (select from activities v where v.source_id = a.source_id and v.kind = 'void' and a.kind = 'score' and (v.consumed & 2) = 2)
      group by 1, 2, 3, 4, 5`);

    // One number per batch that is consumed: a process that gets the next one knows that nobody was in between.
    this.addSql('create sequence quest_turns');

    // version: what the quest was like when it was completed; by: the operator who said so, or null.
    this.addSql(`
      create table quest_completions (
        wallet wallet not null,
        window_key text collate "C" not null,
        quest_id text collate "C" not null references quests,
        version int not null,
        points int not null,
        by text,
        at timestamptz not null,
        primary key (wallet, window_key, quest_id)
      )`);
    this.addSql(`create index quest_completions_quest on quest_completions (quest_id, version) include (points)`);
    this.addSql(`create index ledger_quests on ledger (wallet, at desc, source_id desc) where kind = 'quest' and source = 'quest'`);
  }
}
