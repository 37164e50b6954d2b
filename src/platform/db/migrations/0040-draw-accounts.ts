import { Migration } from '@mikro-orm/migrations';

/**
 * Commitments are accounts of the program `draws`: rounds store signed statements and the running hash of their entries, and a void round has no
 * successor. A committed round is always drawn, so its tickets are never refunded.
 */
export class Migration0040DrawAccounts extends Migration {
  override up(): void {
    // Columns of `rounds`:
    //   `entry_rules`: the terms that a wallet must meet to enter a chat round.
    //   `running_hash`: the running hash after the last entry; before the first entry, the hash of the parameters.
    //   `last_entry_at`: the time of the last entry, so that the times of entries never decrease.
    //   `announcement`, `closed`: the signed statements about the opening and the closing of the round.
    this.addSql('alter table rounds drop column successor_of');
    this.addSql(`
      alter table rounds
        add column entry_rules jsonb not null default '{}',
        add column running_hash bytea,
        add column last_entry_at timestamptz(3),
        add column announcement jsonb,
        add column closed jsonb,
        add constraint rounds_announced check (state = 'pending' or num_nulls(running_hash, announcement) = 0),
        add constraint rounds_closed check (state in ('pending', 'active') or closed is not null)`);
    this.addSql('alter table entries add column running_hash bytea not null check (length(running_hash) = 32)');
    this.addSql('drop index rounds_created_by');
    this.addSql(`create index rounds_opened on rounds (created_at) where kind = 'legacy'`);
    this.addSql(`create index rounds_opened_by on rounds (created_by, created_at) where kind = 'legacy'`);
    this.addSql(`create index rounds_unfinished on rounds (created_by) where kind = 'legacy' and state in ('active', 'closing', 'committed')`);
    // The finalized commitment accounts. `at`: time of the chain's clock, whole seconds. `signature`: the transaction, null when it is not known.
    this.addSql(`
      alter table commitments
        drop column committer, drop column sequence, drop column previous, drop column memo, drop column hash, drop column block_time,
        drop constraint commitments_round_key,
        add primary key (round),
        add column account wallet not null unique,
        add column leaf bytea not null check (length(leaf) = 32),
        add column beacon_round bigint not null check (beacon_round > 0),
        add column at timestamptz(3) not null,
        alter column slot set not null,
        alter column blockhash set not null`);
    this.addSql('alter table tickets drop constraint tickets_state_check');
    this.addSql(`alter table tickets add constraint tickets_state_check check (state in ('checking', 'confirmed', 'refused'))`);
    this.addSql('drop index tickets_paid_by');
    this.addSql(`create unique index tickets_paid_by on tickets (signature) where state = 'confirmed'`);
    this.addSql(guardTicket(`old.state = 'confirmed' or (old.state = 'refused' and old.found)`));
  }

  override down(): void {
    this.addSql(
      guardTicket(`(old.state = 'refunded' or (old.state = 'refused' and old.found)) or (old.state = 'confirmed' and new.state <> 'refunded')`),
    );
    this.addSql('drop index tickets_paid_by');
    this.addSql(`create unique index tickets_paid_by on tickets (signature) where state in ('confirmed', 'refunded')`);
    this.addSql('alter table tickets drop constraint tickets_state_check');
    this.addSql(`alter table tickets add constraint tickets_state_check check (state in ('checking', 'confirmed', 'refused', 'refunded'))`);
    this.addSql('drop table commitments');
    this.addSql(`
      create table commitments (
        committer text collate "C" not null,
        sequence bigint not null check (sequence > 0),
        round uuid not null unique references rounds,
        previous text not null,
        memo text,
        hash text,
        signature text collate "C" unique,
        slot bigint,
        blockhash text collate "C",
        block_time timestamptz,
        primary key (committer, sequence),
        constraint commitments_landed check (num_nulls(memo, hash, signature, slot, blockhash, block_time) in (0, 6))
      )`);
    this.addSql('create index commitments_first on commitments (slot) where sequence = 1');
    this.addSql('drop index rounds_unfinished, rounds_opened_by, rounds_opened');
    this.addSql(`create index rounds_created_by on rounds (created_by, kind) where state in ('pending', 'active')`);
    this.addSql('alter table entries drop column running_hash');
    this.addSql('alter table rounds drop constraint rounds_announced, drop constraint rounds_closed');
    this.addSql(
      'alter table rounds drop column entry_rules, drop column running_hash, drop column last_entry_at, drop column announcement, drop column closed',
    );
    this.addSql('alter table rounds add column successor_of uuid unique references rounds');
  }
}

/** Returns the statement that replaces the trigger function of tickets. */
const guardTicket = (isDecided: string) => `
      create or replace function guard_ticket() returns trigger language plpgsql as $$ begin
        if (new.id, new.round, new.wallet, new.signature) is distinct from (old.id, old.round, old.wallet, old.signature)
        then raise exception 'ticket % never changes its round, wallet or signature', old.id using errcode = 'restrict_violation'; end if;
        if ${isDecided}
        then raise exception 'ticket % is decided, and this decision never changes', old.id using errcode = 'restrict_violation'; end if;
        return new;
      end $$`;
