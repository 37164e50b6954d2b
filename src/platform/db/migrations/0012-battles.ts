import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for battles and their seats. */
export class Migration0012Battles extends Migration {
  override up(): void {
    // `due_at` is the time at which an open battle expires or a running battle ends; it stays set after the end. It has whole milliseconds, so that
    // clients see exactly the time that the service uses.
    this.addSql(`
      create table battles (
        id uuid primary key,
        game_id text not null references games,
        created_by wallet not null,
        max_players smallint not null check (max_players between 2 and 16),
        duration_sec int not null check (duration_sec between 60 and 86400),
        state text not null default 'open' check (state in ('open', 'running', 'finished', 'expired')),
        created_at timestamptz not null,
        due_at timestamptz not null,
        started_at timestamptz,
        ended_at timestamptz,
        check ((started_at is not null) = (state in ('running', 'finished'))),
        check ((ended_at is not null) = (state in ('finished', 'expired')))
      ) with (fillfactor = 70)`);
    this.addSql(`create index battles_due on battles (due_at) where state in ('open', 'running')`);
    this.addSql(`create index battles_active on battles (created_at desc, id desc) where state in ('open', 'running')`);
    this.addSql(`create index battles_active_game on battles (game_id, created_at desc, id desc) where state in ('open', 'running')`);
    this.addSql(`create index battles_creator on battles (created_by) where state in ('open', 'running')`);

    // `best` and `scores` are the best score and the number of scores of the wallet in the battle, among the scores that were already processed for
    // battles. When the battle ends, the service recomputes both columns and sets `place`.
    this.addSql(`
      create table battle_seats (
        battle_id uuid not null references battles,
        seat smallint not null check (seat between 1 and 16),
        wallet wallet not null,
        joined_at timestamptz not null,
        best int,
        scores int not null default 0,
        place smallint,
        primary key (battle_id, wallet),
        unique (battle_id, seat)
      ) with (fillfactor = 70)`);
  }

  override down(): void {
    this.addSql('drop table battle_seats, battles');
  }
}
