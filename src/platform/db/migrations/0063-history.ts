import { Migration } from '@mikro-orm/migrations';

/**
 * Adds closed months. The rows of a closed month of a partitioned table (such as `ledger`) never change: a trigger of each partition refuses every
 * write. Their sums are stored, so an audit need not read the rows again. A closed month can be exported to files, and its partitions can be
 * detached. Months are numbered as by `bucketOf('month', day)`: year × 12 + month − 1.
 */
export class Migration0063History extends Migration {
  override up(): void {
    // One row per partition of a closed month. `columns` are the columns of the exported rows, in their order. `blocks` is the size of the partition
    // when it was closed, in blocks of PostgreSQL. A job reads the blocks in order and adds their rows to `row_count`, `checksum` and `closed_sums`;
    // `counted` is the number of blocks that it has read. `closed_at` is the time at which all blocks were read. `exported_at` is the time at which
    // the files of the partition were stored and compared with `row_count` and `checksum`.
    this.addSql(`
      create table closed_partitions (
        relation text collate "C" not null,
        month int not null,
        columns text[] not null,
        blocks int not null check (blocks >= 0),
        counted int not null default 0 check (counted between 0 and blocks),
        row_count bigint not null default 0 check (row_count >= 0),
        checksum numeric not null default 0,
        sealed_at timestamptz not null default app_now(),
        closed_at timestamptz,
        exported_at timestamptz,
        detached_at timestamptz,
        dropped_at timestamptz,
        primary key (relation, month),
        check (closed_at is not null or exported_at is null),
        check (exported_at is not null or detached_at is null),
        check (detached_at is not null or dropped_at is null)
      )`);
    // The sums of a closed partition per UTC day and cause. `mode` is empty for activities, and `points` is 0.
    this.addSql(`
      create table closed_sums (
        relation text collate "C" not null,
        month int not null,
        day int not null,
        mode text collate "C" not null,
        kind text collate "C" not null,
        source text collate "C" not null,
        reason text collate "C" not null,
        row_count bigint not null,
        points bigint not null,
        primary key (relation, month, day, mode, kind, source, reason)
      )`);
    // The sums of the ledger rows of a closed month per wallet, so that the standings can be compared with the ledger when the rows are detached.
    // `paid_month` is the month in which the points were written, which can be later than the month of their cause. `referred` is the wallet whose
    // score gave the points of a referrer; empty for other points.
    this.addSql(`
      create table carried_points (
        month int not null,
        wallet wallet not null,
        mode text collate "C" not null,
        kind text collate "C" not null,
        paid_month int not null,
        referred wallet not null,
        points bigint not null,
        row_count bigint not null,
        primary key (wallet, month, mode, kind, paid_month, referred)
      )`);
    // The sums of the plays and scores of a closed month per wallet and game. `plays` also counts the scores without a play of the same mode. The other
    // numbers cover accepted scores: their number, their points, the best and the sum of their normalized values, and the submitted value and the time of
    // the first score with the best normalized value. `paid_month` is the month in which
    // they were accepted.
    this.addSql(`
      create table carried_games (
        wallet wallet not null,
        month int not null,
        mode text collate "C" not null,
        game_id text collate "C" not null,
        paid_month int not null,
        plays bigint not null,
        scores bigint not null,
        points bigint not null,
        best int,
        best_score bigint,
        best_at timestamptz,
        normalized bigint not null,
        primary key (wallet, month, mode, game_id, paid_month)
      )`);
    // The exported files of closed partitions. `id` is the name of the file in the media storage. `part` is the number of the first block whose rows
    // the file contains. `leased_at` is the time at which a process began to write the file. The columns from `row_count` to `sha256` are null until the file is stored.
    this.addSql(`
      create table history_files (
        id uuid primary key,
        relation text collate "C" not null,
        month int not null,
        part int not null,
        leased_at timestamptz not null default app_now(),
        row_count bigint,
        checksum numeric,
        bytes bigint,
        sha256 bytea,
        stored_at timestamptz,
        verified_at timestamptz,
        unique (relation, month, part),
        check ((stored_at is null) = (sha256 is null)),
        check (stored_at is not null or verified_at is null)
      )`);
    // Finds the messages that are deleted after CHAT_DAYS. Messages that made entries of rounds are kept.
    this.addSql('create index chat_messages_without_entry on chat_messages (at) where entry is null');
    this.sealing();
    this.detaching();
  }

  override down(): void {
    // Fails while the schema contains detached tables, because their rows would be lost.
    this.addSql('drop schema detached');
    this.addSql('drop index chat_messages_without_entry, score_keys_score');
    this.addSql('drop function drop_month, purge_score_keys, reopen_month, detach_month, seal_month, month_partitions');
    this.addSql('drop function refuse_closed_month cascade');
    this.addSql('drop table history_files, carried_games, carried_points, closed_sums, closed_partitions');
  }

  private sealing(): void {
    // The error code CP001 is the service's own. The API answers it with 409.
    this.addSql(`
      create function refuse_closed_month() returns trigger language plpgsql as
      $$ begin raise exception '% is closed, so its rows cannot change', tg_table_name using errcode = 'CP001'; end $$`);
    // Returns the partitions of a month that are attached, one per partitioned table.
    this.addSql(`
      create function month_partitions(month int) returns table (relation text, id oid, name text)
      language sql stable set search_path = public, pg_temp as $$
        select p.relname::text, c.oid, c.relname::text from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
        where p.relkind = 'p' and p.relnamespace = 'public'::regnamespace
          and c.relname = p.relname || to_char(make_date(month / 12, month % 12 + 1, 1), '_YYYY_MM')
        order by 1 $$`);
    // Refuses every further write to the partitions of a month. Waits at most half a second for each partition, so that writers never wait longer for
    // this function. Returns the number of partitions.
    this.addSql(`
      create function seal_month(month int) returns int language plpgsql security definer
      set search_path = public, pg_temp as $$
      declare part record; sealed int := 0;
      begin
        perform pg_advisory_xact_lock(hashtext('coinop-history'));
        set local lock_timeout = '500ms';
        for part in select * from month_partitions(month) p where not exists (
          select from closed_partitions k where k.relation = p.relation and k.month = seal_month.month)
        loop
          execute format('create trigger %I before insert or update or delete on %I for each row execute function refuse_closed_month()',
            part.relation || '_closed', part.name);
          insert into closed_partitions (relation, month, columns, blocks) select part.relation, seal_month.month,
            array_agg(attname::text order by attnum), pg_relation_size(part.id) / current_setting('block_size')::int
          from pg_attribute where attrelid = part.id and attnum > 0 and not attisdropped;
          sealed := sealed + 1;
        end loop;
        return sealed;
      end $$`);
    this.addSql('revoke all on function seal_month(int) from public');
    // Makes the newest closed month writable again and forgets its sums. The caller deletes the exported files. Only the owner may call it.
    this.addSql(`
      create function reopen_month(month int) returns int language plpgsql set search_path = public, pg_temp as $$
      declare part record; reopened int := 0;
      begin
        if exists (select from closed_partitions k where k.month > reopen_month.month or k.month = reopen_month.month and k.detached_at is not null) then
          raise exception 'only the newest closed month can be opened again, and only while its partitions are attached' using errcode = '55000';
        end if;
        for part in select * from month_partitions(month) loop
          execute format('drop trigger if exists %I on %I', part.relation || '_closed', part.name);
          reopened := reopened + 1;
        end loop;
        delete from history_files f where f.month = reopen_month.month;
        delete from carried_points c where c.month = reopen_month.month;
        delete from carried_games c where c.month = reopen_month.month;
        delete from closed_sums s where s.month = reopen_month.month;
        delete from closed_partitions k where k.month = reopen_month.month;
        return reopened;
      end $$`);
    this.addSql('revoke all on function reopen_month(int) from public');
  }

  private detaching(): void {
    this.addSql('create schema detached');
    // Detaches the partitions of a closed month and moves them to the schema `detached`, where the roles that may read the table may read them. Waits
    // at most 300 ms for each lock, because every query of the table waits behind the lock request; the caller tries again later.
    this.addSql(`
      create function detach_month(month int) returns int language plpgsql security definer
      set search_path = public, pg_temp as $$
      declare part record; reader record; detached int := 0;
      begin
        perform pg_advisory_xact_lock(hashtext('coinop-history'));
        set local lock_timeout = '300ms';
        if exists (select from closed_partitions k where k.month = detach_month.month and k.exported_at is null)
          or exists (select from closed_partitions k where k.month < detach_month.month and k.detached_at is null)
          or exists (select from month_partitions(month) p where not exists (
            select from closed_partitions k where k.relation = p.relation and k.month = detach_month.month))
          or exists (select from closed_partitions k left join lateral (
              select sum(f.row_count) as rows, sum(f.checksum) as checksum, bool_and(f.verified_at is not null) as verified
              from history_files f where f.relation = k.relation and f.month = k.month) f on true
            where k.month = detach_month.month
              and (coalesce(f.rows, 0), coalesce(f.checksum, 0), coalesce(f.verified, true)) is distinct from (k.row_count, k.checksum, true))
        then raise exception 'month % cannot be detached: an earlier month is attached, or its files are not stored and verified', month using errcode = '55000'; end if;
        for part in select * from month_partitions(month) loop
          execute format('alter table %I detach partition %I', part.relation, part.name);
          for reader in select distinct grantee::regrole::text as role from pg_class c, aclexplode(c.relacl) a
            where c.oid = to_regclass(quote_ident(part.relation)) and a.privilege_type = 'SELECT' and a.grantee <> 0 and a.grantee <> c.relowner
          loop
            execute format('grant usage on schema detached to %s', reader.role);
            execute format('grant select on %I to %s', part.name, reader.role);
          end loop;
          execute format('alter table %I set schema detached', part.name);
          update closed_partitions k set detached_at = app_now() where k.relation = part.relation and k.month = detach_month.month;
          detached := detached + 1;
        end loop;
        return detached;
      end $$`);
    this.addSql('revoke all on function detach_month(int) from public');
    // Deletes at most `most` idempotency keys of scores of exported months, and returns their number. The keys are inserted in about the order of the ids of
    // the scores, so a small BRIN index finds the oldest ones.
    this.addSql('create index score_keys_score on score_keys using brin (score_id)');
    this.addSql(`
      create function purge_score_keys(most int) returns int language plpgsql security definer set search_path = public, pg_temp as $$
      declare purged int; oldest text; later text;
      begin
        select partition_bound('id', make_date(min(k.month) / 12, min(k.month) % 12 + 1, 1)), partition_bound('id', make_date((max(k.month) + 1) / 12, (max(k.month) + 1) % 12 + 1, 1))
        into oldest, later from closed_partitions k where k.relation = 'scores' and k.exported_at is not null;
        delete from score_keys where ctid = any(array(
          select ctid from score_keys where score_id >= oldest::uuid and score_id < later::uuid limit most));
        get diagnostics purged = row_count;
        return purged;
      end $$`);
    this.addSql('revoke all on function purge_score_keys(int) from public');
    // Drops the detached tables of a month; its files and its sums stay. Only the owner may call it.
    this.addSql(`
      create function drop_month(month int) returns int language plpgsql set search_path = public, pg_temp as $$
      declare part record; dropped int := 0;
      begin
        for part in select k.relation, k.relation || to_char(make_date(drop_month.month / 12, drop_month.month % 12 + 1, 1), '_YYYY_MM') as name
          from closed_partitions k where k.month = drop_month.month and k.detached_at is not null and k.dropped_at is null order by 1
        loop
          execute format('drop table if exists detached.%I', part.name);
          update closed_partitions k set dropped_at = app_now() where k.relation = part.relation and k.month = drop_month.month;
          dropped := dropped + 1;
        end loop;
        return dropped;
      end $$`);
    this.addSql('revoke all on function drop_month(int) from public');
  }
}
