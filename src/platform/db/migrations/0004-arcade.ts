import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for games, plays, scores, saved states, game records and one-time events. */
export class Migration0004Arcade extends Migration {
  override up(): void {
    this.addSql(`
      create table games (
        id text primary key,
        version int not null,
        definition jsonb not null,
        secret text,
        updated_at timestamptz not null default app_now()
      )`);
    this.addSql(`
      create table game_versions (
        game_id text not null references games, version int not null, definition jsonb not null, at timestamptz not null default app_now(),
        primary key (game_id, version)
      )`);
    this.addSql(`
      create table cabinets (
        id text primary key,
        game_id text not null references games,
        display jsonb not null,
        possessed_by text,
        version int not null,
        updated_at timestamptz not null default app_now()
      )`);
    // A play is never updated, so a cached play stays valid.
    this.addSql(`
      create table plays (
        id uuid primary key,
        wallet wallet not null,
        game_id text not null,
        started_at timestamptz not null
      )`);
    // The index includes `id`, so that the query for a wallet's plays in the last hour can read the index without the table `plays`. This query also
    // compares each `id` with the table `scores`, because a play counts as used when a row of `scores` has the id of the play.
    this.addSql(`create index plays_wallet on plays (wallet, started_at desc) include (id)`);
    this.addSql(`
      create table scores (
        id uuid primary key,
        wallet wallet not null,
        game_id text not null,
        game_version int not null,
        play_id uuid,
        idempotency_key text,
        body_hash bytea not null,
        score bigint not null,
        normalized int not null check (normalized between 0 and 10000),
        points int not null check (points >= 0),
        personal_best boolean not null,
        status text not null check (status in ('accepted', 'held', 'rejected', 'voided')),
        reasons text[] not null default '{}',
        mode text not null check (mode in ('regular', 'beta')),
        duration_ms int,
        battle_id uuid,
        day int not null,
        at timestamptz not null,
        decided_at timestamptz,
        decided_by text
      ) with (fillfactor = 90)`);
    this.addSql(`create unique index scores_play on scores (play_id) where play_id is not null`);
    this.addSql(`create unique index scores_idempotency on scores (wallet, idempotency_key) where idempotency_key is not null`);
    this.addSql(`create index scores_wallet_game on scores (wallet, game_id)`);
    this.addSql(`create index scores_battle on scores (battle_id, wallet, normalized desc) where battle_id is not null`);
    this.addSql(`create index scores_held on scores (at) where status = 'held'`);
    this.addSql(`
      create table game_counters (
        game_id text not null, shard smallint not null,
        plays bigint not null default 0, scores bigint not null default 0, score_sum bigint not null default 0,
        primary key (game_id, shard)
      ) with (fillfactor = 50)`);
    this.addSql(`
      create table game_states (
        wallet wallet not null, game_id text not null references games,
        state jsonb not null, version int not null, updated_at timestamptz not null default app_now(),
        primary key (wallet, game_id)
      )`);
    // Game records are append-only and hash-chained per wallet and game: hash = sha256(hash of the previous record ‖ canonical JSON of the record).
    this.addSql(`
      create table game_records (
        wallet wallet not null, game_id text not null references games, sequence int not null,
        id uuid not null unique, record jsonb not null, previous_hash bytea not null, hash bytea not null, at timestamptz not null,
        primary key (wallet, game_id, sequence), check (sequence > 0)
      )`);
    this.addSql(`create trigger game_records_append_only before update or delete on game_records for each row execute function refuse_change()`);
    this.addSql(`create trigger game_records_no_truncate before truncate on game_records execute function refuse_change()`);
    // One-time events of the arcade.
    this.addSql(`
      create table arcade_events (
        id uuid primary key,
        name text not null,
        payload jsonb,
        starts_at timestamptz not null,
        ends_at timestamptz not null check (ends_at > starts_at)
      )`);
    this.addSql(`create index arcade_events_ends_at on arcade_events (ends_at)`);
  }

  override down(): void {
    this.addSql('drop table arcade_events, game_records, game_states, game_counters, scores, plays, cabinets, game_versions, games');
  }
}
