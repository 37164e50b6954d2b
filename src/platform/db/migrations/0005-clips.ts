import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for clips. The media files of clips are in the object storage. */
export class Migration0005Clips extends Migration {
  override up(): void {
    // A row is inserted before a media file is stored under the id of the clip. The row is not deleted while a file is left. States:
    //   `uploading`: The upload is in progress; a file may exist.
    //   `abandoned`: The upload will not continue; a file may exist.
    //   `ready`: The upload is complete.
    //   `removing`: A moderator removed the clip; a file exists.
    //   `removed`: No file exists. The row still counts against the daily limits of the wallet, and keeps its idempotency key.
    // `sweep_at` is the time at which a recurring sweep checks the clip next.
    this.addSql(`
      create table clips (
        id uuid primary key,
        wallet wallet not null,
        game_id text collate "C" not null,
        title text,
        type text collate "C" not null check (type in ('video/mp4', 'video/webm', 'image/gif')),
        bytes int not null check (bytes > 0),
        sha256 bytea not null check (octet_length(sha256) = 32),
        day int not null,
        idempotency_key text collate "C",
        state text collate "C" not null default 'uploading' check (state in ('uploading', 'abandoned', 'ready', 'removing', 'removed')),
        hidden boolean not null default false,
        created_at timestamptz(3) not null default app_now(),
        sweep_at timestamptz(3),
        check ((sweep_at is null) = (state in ('ready', 'removed')))
      )`);
    // A wallet can upload the same content only once, even after a moderator removed the clip.
    this.addSql(`create unique index clips_content on clips (wallet, sha256) where state <> 'abandoned'`);
    this.addSql(`create unique index clips_key on clips (wallet, idempotency_key) where state <> 'abandoned' and idempotency_key is not null`);
    this.addSql(`create index clips_day on clips (wallet, day) include (bytes) where state <> 'abandoned'`);
    this.addSql(`create index clips_sweep on clips (sweep_at) where sweep_at is not null`);
    // One index per combination of filters in the listing of clips.
    for (const [name, filter] of [
      ['newest', ''],
      ['game', 'game_id,'],
      ['wallet', 'wallet,'],
      ['wallet_game', 'wallet, game_id,'],
    ]) {
      this.addSql(`create index clips_${name} on clips (${filter} created_at desc, id desc) where state = 'ready' and not hidden`);
    }

    // Number of listed clips per game. It is stored, because counting millions of clips takes half a second. A clip is inserted in the state
    // `uploading` and deleted in the state `abandoned`, so only an update of a clip can change the number. To avoid deadlocks, a transaction locks
    // rows of `clip_counts` after all other rows, in the order of `game_id`.
    this.addSql('create table clip_counts (game_id text collate "C" primary key, n int not null) with (fillfactor = 50)');
    this.addSql(`
      create function count_clips() returns trigger language plpgsql as $$
      begin
        insert into clip_counts as c (game_id, n)
        select game_id, sum(change) from (
          select game_id, 1 as change from new_clips where state = 'ready' and not hidden
          union all
          select game_id, -1 from old_clips where state = 'ready' and not hidden) changes
        group by game_id having sum(change) <> 0 order by game_id
        on conflict (game_id) do update set n = c.n + excluded.n;
        return null;
      end $$`);
    this.addSql(`
      create trigger clips_count after update on clips referencing old table as old_clips new table as new_clips
      for each statement execute function count_clips()`);

    // Hides the clips of a wallet in the transaction that bans the wallet, and shows them again when the ban ends.
    this.addSql(`
      create function hide_clips() returns trigger language plpgsql as $$
      begin
        update clips set hidden = new.banned_at is not null where wallet = new.wallet and state <> 'abandoned';
        return null;
      end $$`);
    this.addSql(`
      create trigger players_hide_clips after update of banned_at on players
      for each row when ((old.banned_at is null) <> (new.banned_at is null)) execute function hide_clips()`);
  }

  override down(): void {
    this.addSql('drop trigger players_hide_clips on players');
    this.addSql('drop table clip_counts, clips');
    this.addSql('drop function hide_clips');
    this.addSql('drop function count_clips');
  }
}
