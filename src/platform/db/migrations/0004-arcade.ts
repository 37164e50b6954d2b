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
    // A play is never updated, so a cached play stays valid. The ids of plays and scores are UUIDv7 (src/lib/ids.ts), which sort by time. Therefore
    // both tables can be partitioned by ranges of `id` later.
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
    // A play gives at most one score, and an idempotency key of a wallet gives at most one score. A partitioned table cannot have these two unique
    // indexes, because they do not contain `id`. Before `scores` is partitioned, a migration copies (`play_id`, `id`) and (`wallet`,
    // `idempotency_key`, `id`) into two narrow tables with these unique keys, and the statement that inserts scores then also inserts there. Until
    // then the indexes stay, because a narrow table would add a second row to write per score.
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
    this.records();
  }

  override down(): void {
    this.addSql('drop function erase_game_record');
    this.addSql(
      'drop table arcade_events, game_record_erasures, game_records, game_states, game_counters, scores, plays, cabinets, game_versions, games',
    );
    this.addSql('drop function guard_game_record');
  }

  private records(): void {
    // Game records are append-only and hash-chained per wallet and game:
    //   `content_hash` = sha256(`salt` ‖ canonical JSON of the record)
    //   `hash` = sha256(`previous_hash` ‖ `content_hash`)
    // `erase_game_record` may set `salt` and `record` to null. The chain can still be verified, because it covers only `content_hash`. Without the
    // random salt, a person who guesses the content of an erased record cannot confirm the guess.
    this.addSql(`
      create table game_records (
        wallet wallet not null,
        game_id text not null references games,
        sequence int not null,
        id uuid not null,
        salt bytea check (octet_length(salt) = 32),
        record jsonb,
        content_hash bytea not null,
        previous_hash bytea not null,
        hash bytea not null,
        at timestamptz not null,
        primary key (wallet, game_id, sequence),
        check (sequence > 0),
        check ((salt is null) = (record is null))
      )`);
    this.addSql(`create unique index game_records_id on game_records (id)`);
    // The log of erasures: one row per erased record, with the person who erased it and the lawful request.
    this.addSql(`
      create table game_record_erasures (
        record_id uuid primary key references game_records (id),
        erased_by text not null check (erased_by <> ''),
        reason text not null check (reason <> ''),
        at timestamptz not null default app_now()
      )`);
    // Allows one update: setting `salt` and `record` to null, in a transaction that has logged the erasure.
    this.addSql(`
      create function guard_game_record() returns trigger language plpgsql as $$ begin
        if num_nonnulls(new.salt, new.record) > 0
          or to_jsonb(new) - '{salt, record}'::text[] <> to_jsonb(old) - '{salt, record}'::text[]
          or not exists (select from game_record_erasures where record_id = old.id)
        then raise exception 'table game_records is append-only: only the function erase_game_record erases a record'
          using errcode = 'restrict_violation'; end if;
        return new;
      end $$`);
    this.addSql(`create trigger game_records_guarded before update on game_records for each row execute function guard_game_record()`);
    this.addSql(`create trigger game_records_kept before delete on game_records for each row execute function refuse_change()`);
    this.addSql(`create trigger game_records_no_truncate before truncate on game_records execute function refuse_change()`);
    this.addSql(
      `create trigger game_record_erasures_append_only before update or delete or truncate on game_record_erasures execute function refuse_change()`,
    );
    // Erases the salt and the content of a record, and logs the erasure. Returns false when the record was erased before. Runs with the rights of the
    // owner, who may grant the function to a role that cannot write the tables; no other role may call it.
    this.addSql(`
      create function erase_game_record(record_id uuid, erased_by text, reason text) returns boolean
      language plpgsql security definer set search_path = public, pg_temp as $$ begin
        if not exists (select from game_records r where r.id = record_id) then
          raise exception 'there is no game record with the id %', record_id using errcode = 'no_data_found';
        end if;
        insert into game_record_erasures (record_id, erased_by, reason) values (record_id, erased_by, reason) on conflict do nothing;
        if not found then return false; end if;
        update game_records r set salt = null, record = null where r.id = record_id;
        return true;
      end $$`);
    this.addSql(`revoke all on function erase_game_record(uuid, text, text) from public`);
  }
}
