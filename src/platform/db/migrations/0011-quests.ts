import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for quests with their versions, counts of activities, and completions. */
export class Migration0011Quests extends Migration {
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

    // Counts of a wallet's activities: one row per week, with a value per day. The service computes the progress of every quest from these rows.
    // `week` is the day number of the Monday of the week. `counts`, `bests` and `sums` have one value per day, Monday first; `sums` is set only for
    // burns. `subject` is the id of the game, the id of the burn event, or ''.
    this.addSql(`
      create table wallet_weeks (
        wallet wallet not null,
        week int not null check ((week + 3) % 7 = 0),
        kind text collate "C" not null,
        subject text collate "C" not null,
        counts int[] not null check (cardinality(counts) = 7),
        bests bigint[] not null check (cardinality(bests) = 7),
        sums numeric[] check (cardinality(sums) = 7),
        primary key (wallet, week, kind, subject)
      ) with (fillfactor = 70)`);

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
  }

  override down(): void {
    this.addSql('drop table quest_completions, wallet_weeks, quest_versions, quests');
    this.addSql('drop sequence quest_turns');
  }
}
