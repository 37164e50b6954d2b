import { Migration } from '@mikro-orm/migrations';

/** Rewards on the chain: the accounts of epochs, and who has claimed what. */
export class Migration0009Claims extends Migration {
  override up(): void {
    // Epochs whose root is on the chain, or about to be: where, under whose authority, and how far the chain has been read.
    // claimed, claims: what of it is final. opened_at: its root is final. ended_at: nothing more can be claimed, and all that was is known.
    // closed_at: what was left has been returned. cursor: how far its history has been read, and how many claims were known then. gaps: rounds in a row in which the chain said more than its history told.
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

    // One row per leaf that was claimed, or asked for, by whoever. requested_by: null where a stranger's transaction did it.
    // proof: the nodes from the leaf up, 32 bytes each, until it is claimed.
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
