import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for the on-chain accounts of reward epochs, and for claims. */
export class Migration0009Claims extends Migration {
  override up(): void {
    // Epochs whose root is on chain or will be submitted soon. Columns:
    //   `claimed`: the finalized amount of all claims.
    //   `claims`: the finalized number of claims.
    //   `opened_at`: the time at which the worker learned that the root was finalized.
    //   `ended_at`: the time at which no more claims were possible and all claims were known.
    //   `closed_at`: the time at which the unclaimed tokens were returned to the treasury.
    //   `cursor`: the signature of the last transaction that the worker read from the transaction history of the account.
    //   `cursor_claims`: the value of `claims` when the worker read this transaction.
    //   `gaps`: a counter that grows with each run of the worker in which the account shows more claims than its transaction history.
    this.addSql(`
      create table epoch_accounts (
        epoch int primary key references epochs,
        address text collate "C" not null,
        program text collate "C" not null,
        authority text collate "C" not null,
        mint text collate "C" not null,
        vault text collate "C" not null,
        expires_at timestamptz not null,
        opened_at timestamptz,
        ended_at timestamptz,
        closed_at timestamptz,
        claimed token_amount not null default 0,
        claims int not null default 0 check (claims >= 0),
        cursor text collate "C",
        cursor_slot bigint not null default 0,
        cursor_claims int not null default 0,
        gaps int not null default 0
      ) with (fillfactor = 70)`);
    this.addSql(`create index epoch_accounts_followed on epoch_accounts (epoch) where opened_at is not null and closed_at is null`);

    // One row per leaf that a wallet has claimed or has requested to claim. `requested_by` is null when a transaction of another service claimed the
    // leaf. `proof` is the Merkle proof from the leaf to the root, 32 bytes per node; it is stored until the leaf is claimed.
    this.addSql(`
      create table claims (
        id uuid primary key default gen_random_uuid(),
        epoch int not null references epochs,
        index int not null,
        wallet wallet not null,
        amount token_amount not null check (amount > 0),
        state text not null check (state in ('queued', 'submitted', 'confirmed', 'claimed', 'failed')),
        signature text collate "C",
        requested_by wallet,
        proof bytea,
        reason text,
        created_at timestamptz not null default app_now(),
        changed_at timestamptz not null default app_now(),
        unique (epoch, index),
        check (state in ('claimed', 'failed') or proof is not null)
      ) with (fillfactor = 70)`);
  }
}
