import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for lottery rounds, their entries, their on-chain commitments, and winners. */
export class Migration0011Rounds extends Migration {
  override up(): void {
    this.rounds();
    this.entries();
    this.draws();
  }

  private rounds(): void {
    // A chat round, or a legacy round (with tickets). States, with the data that each state adds:
    //   `pending`: The round is described, but not started (only chat rounds).
    //   `active`: The parameters are frozen and the prizes reserved. The round accepts entries until `closes_at`.
    //   `closing`: The round accepts no more entries. The worker computes the root, the leaves and the proofs, then submits the commitment. `root` is
    //   null until it is computed.
    //   `committed`: A commitment (table `commitments`) is finalized on chain. The commitment determines the beacon round that gives the random
    //   number.
    //   `finalized`: The winners are drawn; the winners, the payments and the audit are stored.
    //   `void`: The round ended without a draw, for the reason in `void_reason`. A void chat round that was committed has a successor with the same
    //   entries.
    // Columns:
    //   `prizes`: a list of { amount, mint }; `mint` is `reward` or `usdc`.
    //   `parameters`: the draw parameters (src/lib/draw); `parameters_hash` is their hash.
    //   `entries`: the number of entries. This number is also the index of the next entry, because the indexes start at 0.
    //   `audit`: the JSON text of the audit (the data that proves the draw, src/lib/draw) from the root on, without the hashes of the entries.
    //   `look_at`: the time of the next check by a worker.
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
    // Index of rounds in progress. A recurring sweep reads these rounds, and the service reads the amounts of their prizes, which the treasury keeps
    // reserved.
    this.addSql(`create index rounds_open on rounds (state, closes_at) where state in ('active', 'closing', 'committed')`);
    this.addSql(`create index rounds_ended on rounds (kind, state, ended_at desc) where state in ('finalized', 'void')`);
    this.addSql(`create index rounds_created_by on rounds (created_by, kind) where state in ('pending', 'active')`);
    // Rejects updates of frozen parameters, of a stored root, of the number of entries after the round has closed, and of rounds that have ended.
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
    // Lottery entries. They are never changed or deleted. The unique key (`round`, `source`, `message_id`) allows one entry per message and round.
    // `at` has whole milliseconds, because the Merkle leaf of the entry also has whole milliseconds.
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
    // The Merkle tree over the entries of a round. Level 0 contains the leaf hashes. `nodes` contains 32 bytes per node. PostgreSQL stores `nodes`
    // outside the row and uncompressed, so that it can read one node without the other nodes.
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
    // The commitments to lottery draws. `sequence` numbers them 1, 2, 3, … without gaps. A round gets its `sequence` just before its commitment is
    // submitted, when the previous commitment is already finalized. The columns from `memo` to `block_time` are set when the round's own commitment
    // is finalized.
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
    // Index of completed payments of the treasury, by time. The functions that compute the balance of the treasury read the recent payments with this
    // index.
    this.addSql(`create index payments_completed on payments (currency, completed_at) where payer = 'treasury' and state = 'completed'`);
    this.addSql('create trigger round_winners_kept before update or delete on round_winners for each row execute function keep_rounds()');
  }
}
