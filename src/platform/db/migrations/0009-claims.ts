import { Migration } from '@mikro-orm/migrations';

/** Creates the on-chain accounts of epochs, and claims. */
export class Migration0009Claims extends Migration {
  override up(): void {
    // Epochs whose root is on chain or about to be: account, authority, and how far the chain has been read. claimed, claims: finalized amount and
    // number of claims. opened_at: the root is finalized. ended_at: no more claims are possible, and all claims are known. closed_at: the rest was
    // returned to the treasury. cursor: how far the history has been read, and the number of claims known then. gaps: consecutive reads in which the
    // account showed more claims than the history.
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

    // One row per leaf that was claimed or requested, by any wallet. requested_by: null when another service's transaction claimed it. proof: the
    // nodes from the leaf up, 32 bytes each, until the leaf is claimed.
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
