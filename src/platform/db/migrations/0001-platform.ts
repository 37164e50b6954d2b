import { Migration } from '@mikro-orm/migrations';

/** Creates the tables of src/platform: clock, events, requests, settings, sessions, webhook deliveries, and transactions to submit. */
export class Migration0001Platform extends Migration {
  override up(): void {
    this.clock();
    this.outbox();
    this.requests();
    this.webhooks();
    this.transactions();
  }

  override down(): void {
    this.addSql('drop table chain_pauses, chain_outflows, chain_attempts, chain_transactions');
    this.addSql('drop table webhook_deliveries');
    this.addSql('drop table sessions, settings, admin_audit, idempotency_keys');
    this.addSql('drop table outbox_counter, outbox');
    this.addSql('drop function refuse_change');
    this.addSql('drop function app_day');
    this.addSql('drop function app_now');
    this.addSql('drop table app_clock');
    this.addSql('drop domain wallet');
  }

  private clock(): void {
    // Wallet addresses are compared byte by byte, so that wallets with equal points have the same order in every locale of the database.
    this.addSql(`create domain wallet as text collate "C"`);

    // All SQL reads the time from `app_now()`. A row in `app_clock` shifts this time; only tests and development insert one.
    this.addSql(`create table app_clock (singleton boolean primary key default true check (singleton), shift interval not null)`);
    this.addSql(`
      create function app_now() returns timestamptz language sql volatile as
      $$ select clock_timestamp() + coalesce((select shift from app_clock), interval '0') $$`);
    this.addSql(`
      create function app_day() returns int language sql volatile as
      $$ select floor(extract(epoch from app_now()) / 86400)::int $$`);
  }

  private outbox(): void {
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
  }

  private requests(): void {
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

    // Settings that operators change. The table keeps every version of a setting; the newest version applies.
    this.addSql(`
      create table settings (
        name text not null, version int not null, value jsonb not null, at timestamptz not null default app_now(),
        primary key (name, version)
      )`);

    // `key` is the SHA-256 of the session id in the cookie. A person who reads this table cannot compute the session id from `key`, and so cannot
    // take over a session.
    this.addSql(`
      create table sessions (
        key bytea primary key,
        wallet wallet not null,
        created_at timestamptz not null,
        extended_at timestamptz not null,
        expires_at timestamptz not null check (expires_at <= created_at + interval '720 hours')
      ) with (fillfactor = 85)`);
    this.addSql(`create index sessions_wallet on sessions (wallet)`);
    this.addSql(`create index sessions_expires_at on sessions (expires_at)`);
  }

  private webhooks(): void {
    // `body` contains the raw bytes of the delivery. `body_hash` is the SHA-256 of `body`. The row of a processed delivery is kept, so that the
    // service recognizes a repeated delivery. `replayed_at` is the time at which an operator last replayed the delivery. Attempts are counted from
    // this time.
    this.addSql(`
      create table webhook_deliveries (
        source text not null,
        id text collate "C" not null,
        body_hash bytea not null,
        body bytea not null,
        received_at timestamptz not null default app_now(),
        state text not null default 'received' check (state in ('received', 'worked', 'failed')),
        attempts int not null default 0 check (attempts >= 0),
        verdict text,
        settled_at timestamptz,
        replayed_at timestamptz,
        primary key (source, id),
        check ((state = 'received') = (settled_at is null))
      )`);
    // Index of deliveries that wait for processing. A recurring sweep enqueues the jobs of these deliveries again, and operators list the deliveries.
    this.addSql(`create index webhook_deliveries_waiting on webhook_deliveries (received_at) where state = 'received'`);
    this.addSql(`create index webhook_deliveries_received_at on webhook_deliveries (received_at)`);
    this.addSql(`create index webhook_deliveries_source on webhook_deliveries (source, received_at)`);
    this.addSql(`create index webhook_deliveries_failed on webhook_deliveries (received_at) where state = 'failed'`);
  }

  private transactions(): void {
    // A transaction that must land exactly once (a claim, an epoch root or a batch of payouts). State `manual`: the outcome of the transaction was
    // unclear for too long, so an operator must decide; the service still polls the attempts of the transaction.
    this.addSql(`
      create table chain_transactions (
        id uuid primary key default gen_random_uuid(),
        kind text not null,
        subject text collate "C" not null,
        state text not null default 'queued' check (state in ('queued', 'live', 'confirmed', 'finalized', 'failed', 'manual')),
        attempts int not null default 0,
        refusals int not null default 0,
        tries int not null default 0,
        next_at timestamptz not null default app_now(),
        signature text collate "C",
        slot bigint,
        error jsonb,
        created_at timestamptz not null default app_now(),
        changed_at timestamptz not null default app_now(),
        unique (kind, subject)
      ) with (fillfactor = 70)`);
    this.addSql(`create index chain_transactions_due on chain_transactions (next_at) where state = 'queued'`);
    this.addSql(`create index chain_transactions_unclear on chain_transactions (changed_at) where state in ('manual', 'failed')`);

    // An attempt to submit a transaction. The signed bytes of the attempt are committed to the database before they are sent. An attempt expires with
    // its blockhash (after the block height `last_valid_height`) or with its nonce. `preamble` is the number of instructions that the service added
    // before the transaction's own instructions when it signed the attempt.
    this.addSql(`
      create table chain_attempts (
        transaction_id uuid not null references chain_transactions,
        n int not null,
        state text not null default 'signed' check (state in ('signed', 'sent', 'confirmed', 'finalized', 'failed', 'dead')),
        signature text collate "C" not null unique,
        bytes bytea not null,
        signers text[] not null,
        preamble smallint not null,
        last_valid_height bigint,
        nonce_account text collate "C",
        nonce text collate "C",
        signed_slot bigint not null,
        signed_at timestamptz not null default app_now(),
        sent_slot bigint,
        slot bigint,
        error jsonb,
        looked_at timestamptz,
        doubt jsonb,
        doubted_at timestamptz,
        spends jsonb not null,
        spend_day int not null,
        primary key (transaction_id, n),
        check ((last_valid_height is null) <> (nonce is null)),
        check ((nonce is null) = (nonce_account is null))
      ) with (fillfactor = 70)`);
    this.addSql(`create unique index chain_attempts_live on chain_attempts (transaction_id) where state in ('signed', 'sent', 'confirmed')`);
    this.addSql(`create index chain_attempts_pending on chain_attempts (signed_at) where state in ('signed', 'sent', 'confirmed')`);
    this.addSql(`create index chain_attempts_nonce on chain_attempts (nonce_account, nonce) where nonce is not null`);

    // Amounts that the service has spent or may still spend, per UTC day and asset. They count against the daily limits. A database transaction that
    // reserves an amount locks the row of the day and asset.
    this.addSql(`
      create table chain_outflows (
        day int not null, asset text collate "C" not null, reserved numeric not null check (reserved >= 0),
        primary key (day, asset)
      )`);
    // `scope` names a group of transaction types (such as 'payouts'). While a scope has a row here, the service signs no transaction of the group.
    this.addSql(`create table chain_pauses (scope text primary key, reason text not null, at timestamptz not null default app_now())`);
  }
}
