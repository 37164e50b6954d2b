import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for transactions to submit, their attempts, and the amounts that count against the daily spending limits. */
export class Migration0006Chain extends Migration {
  override up(): void {
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
    // Token accounts whose rent the service paid, at most one per wallet and mint. `cause` is the id of the claim or of the payout batch for which
    // the account was opened.
    this.addSql(`
      create table token_accounts_opened (
        wallet wallet not null, mint text collate "C" not null,
        cause uuid not null,
        at timestamptz not null default app_now(),
        primary key (wallet, mint)
      )`);
    this.addSql(`create index token_accounts_opened_cause on token_accounts_opened (cause)`);
    // `scope` names a group of transaction types (such as 'payouts'). While a scope has a row here, the service signs no transaction of the group.
    this.addSql(`create table chain_pauses (scope text primary key, reason text not null, at timestamptz not null default app_now())`);
  }
}
