import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for payments, for the lanes and batches that pay them, and for on-chain transactions that the database cannot explain. */
export class Migration0003Payouts extends Migration {
  override up(): void {
    this.payments();
    this.lanes();
    this.watch();
  }

  override down(): void {
    this.addSql('drop table payout_watch, payout_findings');
    this.addSql('drop table payout_batch_members, payout_lanes, payout_batches, token_accounts_opened');
    this.addSql('drop table payments');
    this.addSql('drop function guard_payout_batch');
    this.addSql('drop function guard_payment');
  }

  private payments(): void {
    // One row per cause. A cause is the event that a payment pays for (such as a claimed prize). A row is never deleted. The amount, the wallet and
    // the payer never change. States:
    //   `pending`: The payment is owed, and no transaction is in flight.
    //   `batched`: The payment is in the one live batch of its lane (only payer `treasury`).
    //   `confirmed`: The batch is confirmed, but a fork may still drop it (only payer `treasury`).
    //   `manual`: The payment cannot be paid automatically, so an operator must decide; no transaction is in flight (only payer `treasury`).
    //   `completed`: The payment is finalized on chain (payer `treasury`), or was reported as paid and checked (payer `orchestrator`).
    //   `failed`: The payment was reported as failed, and is still owed (only payer `orchestrator`).
    //   `reversed`: The payment was reported as reversed after it was completed, and is no longer owed (only payer `orchestrator`).
    // Columns:
    //   `lane`: the payout lane; it never changes, so that all transactions that are ever signed for the cause use one nonce account.
    //   `reported`: the status of the payment in its newest report. It may differ from `state`, because the retry of a failed payment changes only
    //   `state`.
    //   `next_at`: the earliest time at which a worker may put the payment into a batch.
    //   `give_ups`: the number of expired batches that contained the payment.
    //   `refusals`: the number of batches that failed because of the payment.
    this.addSql(`
      create table payments (
        id uuid primary key,
        wallet wallet not null,
        currency text not null check (currency in ('usdc', 'reward')),
        amount numeric not null check (amount >= 1 and amount <= 18446744073709551615 and amount = trunc(amount)),
        cause_kind text collate "C" not null check (cause_kind <> ''),
        cause_id text collate "C" not null check (cause_id <> ''),
        payer text not null check (payer in ('treasury', 'orchestrator')),
        lane smallint check (lane >= 0),
        state text not null default 'pending'
          check (state in ('pending', 'batched', 'confirmed', 'completed', 'failed', 'reversed', 'manual')),
        signature text collate "C",
        reason text,
        reported text,
        reported_at timestamptz,
        next_at timestamptz not null default app_now(),
        give_ups smallint not null default 0,
        refusals smallint not null default 0,
        created_at timestamptz not null default app_now(),
        changed_at timestamptz not null default app_now(),
        completed_at timestamptz,
        unique (cause_kind, cause_id),
        check ((payer = 'treasury') = (lane is not null)),
        check (payer = 'treasury' or currency = 'usdc'),
        check (case payer when 'treasury' then state not in ('failed', 'reversed') else state not in ('batched', 'confirmed', 'manual') end),
        check (state <> 'completed' or completed_at is not null),
        check (state not in ('confirmed', 'completed') or signature is not null or payer = 'orchestrator')
      ) with (fillfactor = 70)`);
    // The worker that plans batches reads the pending payments of each lane with this index.
    this.addSql(`create index payments_pending on payments (lane, currency, next_at, id) where state = 'pending' and payer = 'treasury'`);
    // Index of the payments that the treasury still owes. When the service finds a transaction that it did not sign, it searches these payments,
    // because the transaction may have paid one of them.
    this.addSql(`
      create index payments_open on payments (currency, state, amount)
      where payer = 'treasury' and state in ('pending', 'batched', 'confirmed', 'manual')`);
    this.addSql(`create index payments_wallet on payments (wallet, created_at desc, id)`);
    this.addSql(`create index payments_listed on payments (payer, state, created_at, id)`);
    // Index of completed payments of the treasury, by time. The functions that compute the balance of the treasury read the recent payments with this
    // index.
    this.addSql(`create index payments_completed on payments (currency, completed_at) where payer = 'treasury' and state = 'completed'`);
    this.addSql(`create index payments_signature on payments (signature) where signature is not null`);
    this.addSql(`
      create function guard_payment() returns trigger language plpgsql as $$ begin
        if (new.id, new.wallet, new.currency, new.amount, new.cause_kind, new.cause_id, new.payer, new.lane, new.created_at)
          is distinct from (old.id, old.wallet, old.currency, old.amount, old.cause_kind, old.cause_id, old.payer, old.lane, old.created_at)
        then raise exception 'payment % never changes its wallet, currency, amount, cause, payer or lane', old.id using errcode = 'restrict_violation'; end if;
        if old.state = 'completed' and new.state not in ('completed', 'reversed')
        then raise exception 'payment % is completed, so its state can change to reversed only', old.id using errcode = 'restrict_violation'; end if;
        return new;
      end $$`);
    this.addSql(`create trigger payments_fixed before update on payments for each row execute function guard_payment()`);
    this.addSql(`create trigger payments_kept before delete on payments for each row execute function refuse_change()`);
    this.addSql(`create trigger payments_no_truncate before truncate on payments execute function refuse_change()`);
  }

  private lanes(): void {
    // One durable nonce account per lane. Columns:
    //   `nonce`: the value that the next batch uses, as finalized in slot `nonce_slot`; null until the worker has read the account.
    //   `landed`: the signature of the last transaction that is known to have used the nonce.
    //   `stale`: whether a transaction may have used the nonce since the worker read the account.
    //   `accepted`: whether an operator has accepted the nonce that the account has now.
    this.addSql(`
      create table payout_lanes (
        lane smallint primary key check (lane >= 0),
        address text collate "C" not null unique,
        authority text collate "C" not null,
        nonce text collate "C",
        nonce_slot bigint not null default 0,
        batch uuid,
        landed text collate "C",
        landed_slot bigint not null default 0,
        stale boolean not null default true,
        accepted boolean not null default false,
        changed_at timestamptz not null default app_now()
      )`);

    // Only the outcome of a batch may change, so that the worker always composes the same transaction bytes from the batch.
    this.addSql(`
      create table payout_batches (
        id uuid primary key,
        lane smallint not null references payout_lanes,
        address text collate "C" not null,
        nonce text collate "C" not null,
        fee_payer text collate "C" not null,
        treasury text collate "C" not null,
        mint text collate "C" not null,
        decimals smallint not null,
        rent bigint not null,
        urgency smallint not null,
        members_hash text not null,
        state text not null default 'live' check (state in ('live', 'paid', 'over')),
        signature text collate "C",
        slot bigint,
        error jsonb,
        created_at timestamptz not null default app_now(),
        closed_at timestamptz,
        check ((state = 'live') = (closed_at is null)),
        check (state <> 'paid' or signature is not null)
      )`);
    this.addSql(`create unique index payout_batches_live on payout_batches (lane) where state = 'live'`);
    this.addSql(`alter table payout_lanes add foreign key (batch) references payout_batches`);
    this.addSql(`
      create function guard_payout_batch() returns trigger language plpgsql as $$ begin
        if (new.id, new.lane, new.address, new.nonce, new.fee_payer, new.treasury, new.mint, new.decimals, new.rent, new.urgency, new.members_hash)
          is distinct from (old.id, old.lane, old.address, old.nonce, old.fee_payer, old.treasury, old.mint, old.decimals, old.rent, old.urgency, old.members_hash)
          or old.state <> 'live'
        then raise exception 'batch % allows one change: the outcome of a live batch', old.id using errcode = 'restrict_violation'; end if;
        return new;
      end $$`);
    this.addSql(`create trigger payout_batches_fixed before update on payout_batches for each row execute function guard_payout_batch()`);
    this.addSql(`create trigger payout_batches_kept before delete on payout_batches for each row execute function refuse_change()`);

    // The payments of a batch. `opens` says whether the transaction of the batch opens a token account for the wallet before it pays the wallet; the
    // service pays for the account.
    this.addSql(`
      create table payout_batch_members (
        batch uuid not null references payout_batches,
        position smallint not null,
        payment uuid not null references payments,
        opens boolean not null,
        live boolean not null default true,
        primary key (batch, position)
      )`);
    this.addSql(`create unique index payout_batch_members_live on payout_batch_members (payment) where live`);
    this.addSql(`create index payout_batch_members_payment on payout_batch_members (payment)`);
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
  }

  private watch(): void {
    // Transactions that name the nonce account of a lane, and that the service did not sign. Values of `verdict`:
    //   `harmless`: The transaction uses no nonce, failed on chain, or only advances the nonce.
    //   `unmatched`: The transaction moves tokens, and no open payment explains the transfer. Payouts are paused.
    //   `matched`: The transaction paid the payments in the column `payments`.
    //   `acknowledged`: The verdict was `unmatched`, and an operator has checked the transaction.
    this.addSql(`
      create table payout_findings (
        signature text collate "C" primary key,
        lane smallint not null,
        address text collate "C" not null,
        nonce text collate "C",
        slot bigint not null,
        batch uuid,
        members_hash text,
        transfers jsonb not null,
        verdict text not null check (verdict in ('harmless', 'unmatched', 'matched', 'acknowledged')),
        reason text,
        payments uuid[] not null default '{}',
        decided_by text,
        found_at timestamptz not null default app_now(),
        changed_at timestamptz not null default app_now()
      )`);
    this.addSql(`create index payout_findings_unmatched on payout_findings (found_at) where verdict = 'unmatched'`);

    // `system_identifier` and `timeline` identify the database server, as of the last reconciliation. `doubt` is the reason why payouts are paused
    // until the database matches the chain; null when they are not paused for this reason. `held` is the reason why an operator paused payouts; null
    // when no operator has paused them.
    this.addSql(`
      create table payout_watch (
        singleton boolean primary key default true check (singleton),
        system_identifier text,
        timeline int,
        doubt text,
        held text,
        held_by text,
        checked_at timestamptz
      )`);
    this.addSql(`insert into payout_watch default values`);
  }
}
