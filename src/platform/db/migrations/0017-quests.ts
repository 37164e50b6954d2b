import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for quests with their versions, counts of activities, and completions. */
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

    // Counts of a wallet's activities. A row covers one day (`span = 1`) or one ISO week (`span = 7`), starting at `first_day`. `subject` is the id
    // of the game, the id of the burn event, or ''. The service computes the progress of every quest from these rows. With the rows per week, a query
    // for a long period reads few rows.
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
    // Fills the counts from the activities that were already processed for quests.
    this.addSql(`
      insert into wallet_metrics (wallet, span, first_day, kind, subject, count, best, sum)
      select a.wallet, s.span, case s.span when 1 then a.day else a.day - (a.day + 3) % 7 end, a.kind, coalesce(a.game_id, ''),
             count(*), max(a.amount), sum(a.amount)
      from activities a, (values (1), (7)) s(span)
      where a.kind <> 'void' and (a.consumed & 2) = 2
        and not exists (select from activities v where v.source_id = a.source_id and v.kind = 'void' and a.kind = 'score' and (v.consumed & 2) = 2)
      group by 1, 2, 3, 4, 5`);

    // Each batch of activities that is processed for quests takes one number from this sequence. A process that gets two consecutive numbers knows
    // that no other process consumed a batch in between.
    this.addSql('create sequence quest_turns');

    // Completed quests. `version` is the version of the quest when the wallet completed it. `by` is the name of the operator who recorded the
    // completion by hand, or null.
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
