import { Migration } from '@mikro-orm/migrations';

/** Creates the on-chain accounts of reward epochs, and claims. */
export class Migration0009Claims extends Migration {
  override up(): void {
    // Epochs whose root is on chain or will be submitted soon. claimed, claims: finalized amount and number of claims. opened_at: when the root was
    // known to be finalized. ended_at: when no more claims were possible and all claims were known. closed_at: when the unclaimed tokens were
    // returned to the treasury. cursor: the last transaction that was read from the account's history; cursor_claims: number of claims at that time.
    // gaps: grows with each successive read in which the account shows more claims than its history.
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

    // One row per leaf that any wallet has claimed or requested. requested_by: null when a transaction of another service claimed the leaf. proof:
    // the Merkle proof, from the leaf to the root, 32 bytes per node; stored until the leaf is claimed.
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
