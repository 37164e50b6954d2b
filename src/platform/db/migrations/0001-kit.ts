import { Migration } from '@mikro-orm/migrations';

/** Creates the tables of src/platform: the shift of the clock, the outbox of events, idempotency keys, and the audit log of admin actions. */
export class Migration0001Kit extends Migration {
  override up(): void {
    // Wallet addresses are compared byte by byte, so that wallets with equal points have the same order in every locale of the database.
    this.addSql(`create domain wallet as text collate "C"`);

    // All SQL reads the time from `app_now()`. A row in `app_clock` shifts this time; only tests and development insert one.
    this.addSql(`create table app_clock (shift interval not null)`);
    this.addSql(`
      create function app_now() returns timestamptz language sql volatile as
      $$ select clock_timestamp() + coalesce((select shift from app_clock), interval '0') $$`);
    this.addSql(`
      create function app_day() returns int language sql volatile as
      $$ select floor(extract(epoch from app_now()) / 86400)::int $$`);

    // The outbox of events. A transaction inserts its events here; the publisher (src/platform/events) then assigns the publication numbers. Rows are
    // inserted and deleted all day, so autovacuum runs when 5 % of the table's rows are dead (deleted but still stored).
    this.addSql(`
      create table outbox (
        id bigint generated always as identity primary key,
        publication bigint unique,
        type text not null,
        wallet wallet,
        payload jsonb not null,
        at timestamptz not null default app_now()
      ) with (autovacuum_vacuum_scale_factor = 0.05)`);
    this.addSql(`create index outbox_unnumbered on outbox (id) where publication is null`);
    // `publication` is the last publication number that the publisher (src/platform/events) has assigned. `published_at` is the time at which the
    // publisher last assigned numbers. `appended` is the last publication number that is known to be in the Redis stream.
    this.addSql(`
      create table outbox_counter (
        singleton boolean primary key default true check (singleton),
        publication bigint not null,
        published_at timestamptz not null,
        appended bigint not null
      )`);
    this.addSql(`insert into outbox_counter (publication, published_at, appended) values (0, 'epoch', 0)`);

    this.addSql(`
      create table idempotency_keys (
        scope bytea primary key,
        request_hash bytea not null,
        status smallint,
        body jsonb,
        headers jsonb,
        created_at timestamptz not null default app_now()
      )`);
    this.addSql(`create index idempotency_keys_created_at on idempotency_keys using brin (created_at)`);

    // The audit log is append-only and hash-chained: hash = sha256(hash of the previous row ‖ canonical JSON of the row).
    this.addSql(`
      create table admin_audit (
        id bigint primary key,
        at timestamptz not null,
        token_name text not null,
        method text not null,
        path text not null,
        body_hash bytea not null,
        previous_hash bytea not null,
        hash bytea not null unique
      )`);
    this.addSql(`
      create function refuse_change() returns trigger language plpgsql as
      $$ begin raise exception 'table % is append-only', tg_table_name using errcode = 'restrict_violation'; end $$`);
    this.addSql(`create trigger admin_audit_append_only before update or delete or truncate on admin_audit execute function refuse_change()`);
  }
}
