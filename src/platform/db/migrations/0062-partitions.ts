import { Migration } from '@mikro-orm/migrations';

/** Returns SQL that returns the time of a UUIDv7 in ms since 1970. */
const msOf = (id: string) => `('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint`;
/** Returns SQL that returns the first UUID of a time. @param ms SQL expression */
const idFrom = (ms: string) => `(lpad(to_hex(${ms}), 12, '0') || repeat('0', 20))::uuid`;

/** The partitioned tables, with the column that has the time of the cause: a UTC day, or a UUIDv7. */
const TABLES = { ledger: 'cause_day', activities: 'cause_day', plays: 'id', scores: 'id', score_plays: 'play_id' } as const;

/**
 * Partitions the tables that grow with each play by the UTC month of the cause. The month depends on the cause alone, so a retry in a later month finds
 * the row of the first try, and the unique keys hold across partitions.
 *
 * The old table becomes the partition `<table>_first`, which has everything before the first month, so no row is copied. In `ledger` and `activities`
 * this partition also has the causes without a time, whose `cause_day` is 0. The partition of a month is `<table>_YYYY_MM`. There is no default
 * partition, because a repeated cause of a detached month would be inserted there a second time. An insert into a month without a partition fails, and
 * `app.tx` then calls `make_partitions`.
 */
export class Migration0062Partitions extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.functions();
    this.keysOfScores();
    for (const [table, key] of Object.entries(TABLES)) this.addSql(convert(table, key));
    // The first month is the same for all tables: the present month, or the month after the newest row if there are rows of the present month. PostgreSQL
    // reads each old table once to check that its rows are older.
    const afterNewest = Object.entries(TABLES).map(([table, key]) => {
      const at = key === 'cause_day' ? `timestamp 'epoch' + cause_day * interval '1 day'` : `to_timestamp(${msOf(key)} / 1000) at time zone 'UTC'`;
      return `(select date_trunc('month', ${at}) + interval '1 month' from ${table}_first order by ${key} desc limit 1)`;
    });
    const attach = Object.entries(TABLES).map(
      ([table, key]) => `
        execute format('alter table ${table} attach partition ${table}_first for values from (minvalue) to (%L)', partition_bound('${key}', first));`,
    );
    this.addSql(`
      do $$ declare first date := greatest(date_trunc('month', app_now() at time zone 'UTC'), ${afterNewest.join(', ')}); begin
        ${attach.join('')}
        perform make_partitions(first, (first + interval '3 months')::date);
      end $$`);
  }

  /** Moves the rows of all months back into one table. */
  override down(): void {
    this.addSql('drop trigger scores_keys on scores');
    this.addSql('drop function insert_score_keys');
    for (const table of Object.keys(TABLES)) this.addSql(restore(table));
    this.addSql('drop table score_plays, score_keys');
    this.addSql(`create unique index scores_play on scores (play_id) where play_id is not null`);
    this.addSql(`create unique index scores_idempotency on scores (wallet, idempotency_key) where idempotency_key is not null`);
    this.addSql('alter table score_restorations add foreign key (score_id) references scores');
    this.addSql('drop function days_before, analyze_partitions, make_partitions, partition_bound');
  }

  /** Moves the unique keys of scores that do not contain the id into tables of their own, because a partitioned table cannot have them. */
  private keysOfScores(): void {
    // A referenced partition cannot be detached.
    this.addSql('alter table score_restorations drop constraint score_restorations_score_id_fkey');
    this.addSql('drop index scores_play, scores_idempotency');
    this.addSql('create table score_plays (play_id uuid primary key, score_id uuid not null)');
    this.addSql('insert into score_plays (play_id, score_id) select play_id, id from scores where play_id is not null');
    this.addSql('create table score_keys (wallet wallet not null, key text not null, score_id uuid not null, primary key (wallet, key))');
    this.addSql(`
      insert into score_keys (wallet, key, score_id)
      select wallet, idempotency_key, id from scores where idempotency_key is not null`);
    // A trigger inserts the keys, so that no statement can insert a score without them, and one call per statement is enough.
    this.addSql(`
      create function insert_score_keys() returns trigger language plpgsql as $$ begin
        insert into score_plays (play_id, score_id) select play_id, id from inserted where play_id is not null;
        insert into score_keys (wallet, key, score_id) select wallet, idempotency_key, id from inserted where idempotency_key is not null;
        return null;
      end $$`);
    this.addSql(`
      create trigger scores_keys after insert on scores referencing new table as inserted for each statement execute function insert_score_keys()`);
  }

  private functions(): void {
    // Returns the first value of a partition's key that belongs to a month or to a later month.
    this.addSql(`
      create function partition_bound(key text, month date) returns text language sql immutable as $$
        select case key
          when 'cause_day' then (month - date '1970-01-01')::text
          else ${idFrom('extract(epoch from month)::bigint * 1000')}::text end $$`);
    // Returns the first UUID of the time some days before a UUIDv7. A condition such as `id > days_before($1, 1)` lets PostgreSQL skip the partitions
    // of earlier months.
    this.addSql(`
      create function days_before(id uuid, days int) returns uuid language sql immutable strict parallel safe as $$
        select ${idFrom(`${msOf('id')} - days * 86400000::bigint`)} $$`);
    // Makes the partitions of the months from `since` to `until` that are missing, and returns their number. `since` is null for the month after the
    // newest one. Makes no month before the oldest attached month, because older months may be detached, and a repeated cause must not find an empty
    // partition there. Attaching does not wait for transactions that write the table, and they do not wait for it.
    this.addSql(`
      create function make_partitions(since date, until date) returns int
      language plpgsql security definer set search_path = public, pg_temp as $$
      declare
        parent record;
        month date;
        partition text;
        made int := 0;
      begin
        if until > app_now() + interval '2 years' then
          raise exception 'partitions can be made for the next two years, not up to %', until using errcode = 'invalid_parameter_value';
        end if;
        perform pg_advisory_xact_lock(hashtext('coinop-partitions'));
        for parent in
          select c.relname::text as name, a.attname::text as key, array_to_string(f.reloptions, ', ') as options, m.oldest, m.newest
          from pg_partitioned_table p join pg_class c on c.oid = p.partrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0]
          left join pg_class f on f.relnamespace = c.relnamespace and f.relname = c.relname || '_first'
          cross join lateral (
            select min(to_date(right(d.relname, 7), 'YYYY_MM')) as oldest, max(to_date(right(d.relname, 7), 'YYYY_MM')) as newest
            from pg_inherits i join pg_class d on d.oid = i.inhrelid where i.inhparent = c.oid and d.relname ~ '_[0-9]{4}_[0-9]{2}$') m
          where c.relnamespace = 'public'::regnamespace
        loop
          for month in
            select generate_series(date_trunc('month', coalesce(since, parent.newest + interval '1 month')::timestamp), until::timestamp, interval '1 month')
          loop
            partition := parent.name || to_char(month, '_YYYY_MM');
            continue when month < parent.oldest or to_regclass(partition) is not null;
            execute format('create table %I (like %I including all excluding indexes) %s', partition, parent.name, 'with (' || parent.options || ')');
            execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent.name, partition,
              partition_bound(parent.key, month), partition_bound(parent.key, (month + interval '1 month')::date));
            made := made + 1;
          end loop;
        end loop;
        return made;
      end $$`);
    // Updates the statistics of the partitioned tables, which autovacuum does not do.
    this.addSql(`
      create function analyze_partitions() returns void language plpgsql security definer set search_path = public, pg_temp as $$
      begin analyze ${Object.keys(TABLES).join(', ')}; end $$`);
    for (const name of ['make_partitions(date, date)', 'analyze_partitions()']) this.addSql(`revoke all on function ${name} from public`);
  }
}

/** Returns SQL that renames a table to its first partition, and gives its indexes, triggers and rights to a new partitioned table without partitions. */
const convert = (table: string, key: string) => `
  do $$ declare old record; begin
    alter table ${table} rename to ${table}_first;
    create table ${table} (like ${table}_first including all excluding indexes) partition by range (${key});
    for old in
      select i.indexrelid::regclass as name, pg_get_indexdef(i.indexrelid) as definition, c.conname, pg_get_constraintdef(c.oid) as constraint
      from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u') where i.indrelid = '${table}_first'::regclass
    loop
      execute format('alter index %s rename to %I', old.name, old.name || '_first');
      if old.conname is null then execute replace(old.definition, ' ON public.${table}_first ', ' ON public.${table} ');
      else execute format('alter table ${table} add constraint %I %s', old.conname, old.constraint); end if;
    end loop;
    for old in select tgname, pg_get_triggerdef(oid) as definition from pg_trigger where tgrelid = '${table}_first'::regclass and not tgisinternal loop
      execute format('drop trigger %I on ${table}_first', old.tgname);
      execute replace(old.definition, ' ON public.${table}_first ', ' ON public.${table} ');
    end loop;
    for old in select a.grantee::regrole, a.privilege_type as right from pg_class, aclexplode(relacl) a
      where oid = '${table}_first'::regclass and a.grantee <> relowner
    loop
      execute format('grant %s on ${table} to %s', old.right, old.grantee);
      execute format('revoke %s on ${table}_first from %s', old.right, old.grantee);
    end loop;
  end $$`;

/** Returns SQL that moves the rows of a partitioned table into its first partition, which then replaces the table. */
const restore = (table: string) => `
  do $$ declare statements text[]; statement text; begin
    select array_agg(pg_get_triggerdef(oid)) into statements from pg_trigger where tgrelid = '${table}'::regclass and not tgisinternal;
    select statements || array_agg(format('grant %s on ${table} to %s', a.privilege_type, a.grantee::regrole)) into statements
    from pg_class, aclexplode(relacl) a where oid = '${table}'::regclass and a.grantee <> relowner;
    alter table ${table} detach partition ${table}_first;
    insert into ${table}_first select * from ${table};
    drop table ${table};
    alter table ${table}_first rename to ${table};
    select statements || array_agg(format('alter index %s rename to %I', indexrelid::regclass, left(indexrelid::regclass::text, -6))) into statements
    from pg_index where indrelid = '${table}'::regclass;
    foreach statement in array statements loop execute statement; end loop;
  end $$`;
