import { Migration } from '@mikro-orm/migrations';

/**
 * Gives each completion of a quest a mode, and creates the tables for the follow states of accounts and for quests whose requirement may be met
 * without a new activity.
 */
export class Migration0021QuestChecks extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `mode` is the mode of the ledger row that the completion gave. A completion in beta mode does not use up the completion in regular mode.
    this.addSql(`alter table quest_completions add column mode text not null default 'regular' check (mode in ('regular', 'beta'))`);
    this.addSql(`
      update quest_completions c set mode = 'beta' from ledger l
      where l.wallet = c.wallet and l.kind = 'quest' and l.source = 'quest' and l.reason = 'quest' and l.mode = 'beta'
        and l.source_id = c.quest_id || ':' || c.window_key`);
    this.addSql('alter table quest_completions alter column mode drop default');
    this.addSql('alter table quest_completions drop constraint quest_completions_pkey, add primary key (wallet, window_key, quest_id, mode)');

    // Quests that a worker must evaluate for a wallet, because something other than a new activity may have met their requirement, or because the
    // token balance of the wallet was not known when the requirement was met. `quest_id` is '' for all quests. `day` is the UTC day whose windows
    // are evaluated. Between `first_at` and `last_at`, the requirement may have been met. `asked_at` is the time of the first request; `try_at` is
    // the time of the next attempt.
    this.addSql(`
      create table quest_checks (
        wallet wallet not null,
        quest_id text collate "C" not null,
        day int not null,
        first_at timestamptz not null,
        last_at timestamptz not null,
        asked_at timestamptz not null default app_now(),
        try_at timestamptz not null default app_now(),
        primary key (wallet, quest_id, day)
      )`);
    this.addSql('create index quest_checks_try_at on quest_checks (try_at)');

    // The newest evaluation of a quest for all wallets. `basis` describes what was evaluated: the version, the window, the games that count. The
    // evaluation continues behind the wallet `after_wallet` ('' at the beginning) and is over at `finished_at`.
    this.addSql(`
      create table quest_sweeps (
        quest_id text collate "C" primary key references quests,
        basis text not null,
        day int not null,
        after_wallet text collate "C" not null default '',
        started_at timestamptz not null default app_now(),
        finished_at timestamptz
      )`);

    // The last reported follow or unfollow of an account that is or was linked. A follow that was credited without a row here has not ended.
    this.addSql(`
      create table follow_states (
        platform text collate "C" not null,
        account_id text collate "C" not null,
        following boolean not null,
        at timestamptz not null,
        primary key (platform, account_id)
      )`);
  }

  override down(): void {
    this.addSql('drop table follow_states, quest_sweeps, quest_checks');
    this.addSql(`
      delete from quest_completions b where mode = 'beta' and exists (
        select from quest_completions r
        where r.wallet = b.wallet and r.window_key = b.window_key and r.quest_id = b.quest_id and r.mode = 'regular')`);
    this.addSql('alter table quest_completions drop constraint quest_completions_pkey, add primary key (wallet, window_key, quest_id)');
    this.addSql('alter table quest_completions drop column mode');
  }
}
