import { Migration } from '@mikro-orm/migrations';

/** Creates lottery rounds, their entries, their on-chain commitments, and winners. */
export class Migration0011Rounds extends Migration {
  override up(): void {
    this.rounds();
    this.entries();
    this.draws();
  }

  private rounds(): void {
    // A chat round, or a legacy round (with tickets). States, and the data that each state adds:
    //   pending    chat only: described, not started
    //   active     parameters are frozen and prizes reserved; entries are accepted until closes_at
    //   closing    no more entries; root, leaves and proofs are computed (root is null until then), then the commitment is submitted
    //   committed  a commitment is finalized on chain (table commitments), which determines the beacon round
    //   finalized  drawn: winners, payments and audit are stored
    //   void       ended without a draw, for the reason in void_reason; a chat round that was committed has a successor with the same entries
    // prizes: [{ amount, mint: reward | usdc }]. parameters, parameters_hash: the draw parameters (src/lib/draw) and their hash. entries: number of
    // entries, which is the index of the next entry. audit: JSON text of the audit (src/lib/draw), from the root on, without the hashes of the
    // entries. look_at: time of the next check.
    this.addSql(`
      create table rounds (
        id uuid primary key default gen_random_uuid(),
        kind text not null check (kind in ('chat', 'legacy')),
        state text not null check (state in ('pending', 'active', 'closing', 'committed', 'finalized', 'void')),
        title text,
        created_by text not null,
        picks smallint,
        range smallint,
        max_entries_per_wallet int,
        prizes jsonb,
        duration_sec int,
        ticket_price numeric,
        max_tickets bigint,
        parameters jsonb,
        parameters_hash text,
        opens_at timestamptz(3),
        closes_at timestamptz(3),
        entries int not null default 0 check (entries >= 0),
        root bytea,
        audit text,
        beacon_round bigint,
        beacon_due_at timestamptz,
        void_reason text,
        successor_of uuid unique references rounds,
        look_at timestamptz not null default app_now(),
        created_at timestamptz not null default app_now(),
        closed_at timestamptz,
        committed_at timestamptz,
        ended_at timestamptz,
        check (case kind when 'chat' then num_nulls(title, picks, range, max_entries_per_wallet, prizes, duration_sec) = 0 and ticket_price is null
                         else ticket_price is not null and num_nonnulls(picks, range, max_entries_per_wallet, prizes, duration_sec) = 0 end),
        check (state = 'pending' or num_nulls(parameters, parameters_hash, opens_at, closes_at) = 0),
        check (state in ('pending', 'active') or closed_at is not null),
        check (state not in ('committed', 'finalized') or (beacon_due_at is not null and root is not null and audit is not null and entries > 0)),
        check ((state = 'void') = (void_reason is not null)),
        check ((state in ('finalized', 'void')) = (ended_at is not null))
      ) with (fillfactor = 70)`);
    this.addSql(`create unique index rounds_one_active on rounds (kind) where kind = 'chat' and state = 'active'`);
    // Index of rounds in progress. The sweep reads these rounds, and the treasury reserves their prizes.
    this.addSql(`create index rounds_open on rounds (state, closes_at) where state in ('active', 'closing', 'committed')`);
    this.addSql(`create index rounds_ended on rounds (kind, state, ended_at desc) where state in ('finalized', 'void')`);
    this.addSql(`create index rounds_created_by on rounds (created_by, kind) where state in ('pending', 'active')`);
    // Frozen parameters cannot change, and a round that has ended cannot change its state.
    this.addSql(`
      create function guard_round() returns trigger language plpgsql as $$ begin
        if old.state in ('finalized', 'void') and (to_jsonb(new) - 'look_at') <> (to_jsonb(old) - 'look_at') then
          raise exception 'round % is over', old.id;
        end if;
        if old.parameters is not null and (new.parameters, new.parameters_hash, new.closes_at) is distinct from (old.parameters, old.parameters_hash, old.closes_at) then
          raise exception 'the parameters of round % are frozen', old.id;
        end if;
        if old.state not in ('pending', 'active') and new.entries <> old.entries then raise exception 'round % takes no entries', old.id; end if;
        if old.root is not null and new.root is distinct from old.root then raise exception 'the root of round % is fixed', old.id; end if;
        return new;
      end $$`);
    this.addSql('create trigger rounds_guarded before update on rounds for each row execute function guard_round()');
    this.addSql(`
      create function keep_rounds() returns trigger language plpgsql as $$ begin
        raise exception 'rounds and their entries are never deleted';
      end $$`);
    this.addSql('create trigger rounds_kept before delete on rounds for each row execute function keep_rounds()');
  }

  private entries(): void {
    // Lottery entries, never changed or deleted. (source, message_id): one message makes at most one entry per round. at: in whole milliseconds, as
    // in the Merkle leaf of the entry.
    this.addSql(`
      create table entries (
        round uuid not null references rounds,
        index int not null check (index >= 0),
        id uuid not null,
        wallet wallet not null,
        numbers smallint[] not null,
        source text collate "C" not null,
        message_id text collate "C" not null,
        at timestamptz(3) not null,
        primary key (round, index),
        unique (round, source, message_id)
      )`);
    this.addSql(`create unique index entries_id on entries (id)`);
    this.addSql(`create index entries_wallet on entries (round, wallet)`);
    this.addSql('create trigger entries_kept before update or delete on entries for each row execute function keep_rounds()');
    // The Merkle tree over the entries of a round. Level 0 holds the leaves, 32 bytes per node. The nodes are stored outside the row and
    // uncompressed, so that PostgreSQL can read one node without the others.
    this.addSql(`
      create table round_levels (
        round uuid not null references rounds,
        level smallint not null,
        nodes bytea not null,
        primary key (round, level)
      )`);
    this.addSql('alter table round_levels alter column nodes set storage external');
  }

  private draws(): void {
    // The commitments to lottery draws, numbered 1, 2, 3, … without gaps. A round gets its number just before its commitment is submitted, when the
    // previous commitment is finalized. memo to block_time: set when the commitment itself is finalized.
    this.addSql(`
      create table commitments (
        sequence bigint primary key check (sequence > 0),
        round uuid not null unique references rounds,
        previous text not null,
        memo text,
        hash text,
        committer text collate "C",
        signature text collate "C" unique,
        slot bigint,
        blockhash text collate "C",
        block_time timestamptz,
        check (num_nulls(memo, hash, committer, signature, slot, blockhash, block_time) in (0, 7))
      )`);
    this.addSql(`
      create table round_winners (
        round uuid not null references rounds,
        place int not null check (place >= 1),
        index int not null,
        wallet wallet not null,
        matches int,
        amount numeric not null check (amount > 0),
        mint text not null check (mint in ('reward', 'usdc')),
        primary key (round, place),
        unique (round, wallet),
        foreign key (round, index) references entries (round, index)
      )`);
    // Index of payments that the treasury has completed, by time. Functions that compute the treasury balance read the recent ones.
    this.addSql(`create index payments_completed on payments (currency, completed_at) where payer = 'treasury' and state = 'completed'`);
    this.addSql('create trigger round_winners_kept before update or delete on round_winners for each row execute function keep_rounds()');
  }
}
