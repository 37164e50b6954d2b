import { Migration } from '@mikro-orm/migrations';

/** Creates the simulations of games, the seeds of plays and the replays of scores. */
export class Migration0049Replays extends Migration {
  override up(): void {
    this.addSql(`
      create table simulations (
        hash bytea primary key check (octet_length(hash) = 32),
        source_hash bytea not null check (octet_length(source_hash) = 32),
        module bytea not null,
        ticks_per_second int not null check (ticks_per_second > 0),
        max_ticks int not null check (max_ticks > 0),
        instructions_per_tick int not null check (instructions_per_tick > 0),
        by text not null,
        at timestamptz not null default app_now()
      )`);
    this.addSql(`
      create trigger simulations_append_only before delete or update or truncate on simulations
      for each statement execute function refuse_change()`);
    this.addSql(`
      create table play_seeds (
        play_id uuid primary key,
        simulation bytea not null references simulations,
        seed bytea not null check (octet_length(seed) = 16)
      )`);
    this.addSql(`
      create table score_replays (
        score_id uuid primary key,
        play_id uuid not null,
        log bytea not null,
        at timestamptz not null
      )`);
    this.addSql('create index score_replays_at on score_replays (at)');
    // An input log is small and not compressible enough to be worth the time.
    this.addSql('alter table score_replays alter column log set storage external');
    this.addSql(`
      create table replay_refusals (
        wallet wallet not null,
        game_id text collate "C" not null,
        day int not null,
        count int not null check (count > 0),
        reason text not null,
        primary key (wallet, game_id, day)
      )`);
    this.addSql('create index replay_refusals_day on replay_refusals (day desc, count desc, wallet)');
  }

  override down(): void {
    this.addSql('drop table replay_refusals, score_replays, play_seeds, simulations');
  }
}
