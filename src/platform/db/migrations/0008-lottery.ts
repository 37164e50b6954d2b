import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for lottery rounds, their entries, commitments, winners and tickets, and for the schedule of chat rounds. */
export class Migration0008Lottery extends Migration {
  override up(): void {
    this.rounds();
    this.entries();
    this.draws();
    this.tickets();
    this.schedule();
  }

  override down(): void {
    this.addSql('drop table round_schedule, tickets, round_winners, commitments, round_levels, entries, rounds');
    this.addSql('drop function guard_ticket');
    this.addSql('drop function keep_rounds');
    this.addSql('drop function guard_round');
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
          raise exception 'round % has ended and never changes', old.id;
        end if;
        if old.parameters is not null and (new.parameters, new.parameters_hash, new.closes_at) is distinct from (old.parameters, old.parameters_hash, old.closes_at) then
          raise exception 'round % has started, so its parameters never change', old.id;
        end if;
        if old.state not in ('pending', 'active') and new.entries <> old.entries then raise exception 'round % has closed and takes no entries', old.id; end if;
        if old.root is not null and new.root is distinct from old.root then raise exception 'round % never changes its root', old.id; end if;
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
    // The commitments to lottery draws. `sequence` numbers the commitments of each committer key 1, 2, 3, … without gaps, so that operators can
    // replace an abused key by a new key. A round gets its `sequence` just before its commitment is submitted, when the previous commitment is
    // already finalized. The columns from `memo` to `block_time` are set when the round's own commitment is finalized.
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
    this.addSql('create trigger round_winners_kept before update or delete on round_winners for each row execute function keep_rounds()');
  }

  private tickets(): void {
    // A requested ticket. The lottery entry of the ticket gets the same id. States:
    //   `checking`: The worker polls the payment transaction (`signature`) until the transaction is finalized or can never land.
    //   `confirmed`: The ticket counts, and its entry exists.
    //   `refused`: The ticket does not count, for the reason in `reason`.
    //   `refunded`: The ticket counted, and then its round was voided.
    // Columns:
    //   `found`: for a refused ticket, whether its payment transaction is finalized. If it is finalized, the refusal is permanent; otherwise the
    //   wallet may request the ticket again.
    //   `signature`: the signature of the payment transaction; null for a free ticket.
    //   `refunds`: the amounts that are owed back to the wallet, as a list of { payment, currency, amount }.
    //   `asked_at`: the time at which the polling began.
    // The unique key contains the wallet, so that a wallet cannot block the ticket of another wallet by naming the same transaction.
    this.addSql(`
      create table tickets (
        id uuid primary key,
        round uuid not null references rounds,
        wallet wallet not null,
        signature text collate "C",
        state text not null check (state in ('checking', 'confirmed', 'refused', 'refunded')),
        found boolean not null default false,
        reason text,
        refunds jsonb not null default '[]',
        asked_at timestamptz not null default app_now(),
        next_at timestamptz not null default app_now() + interval '500 milliseconds',
        created_at timestamptz not null default app_now(),
        decided_at timestamptz,
        unique (signature, wallet),
        check ((state = 'refused') = (reason is not null)),
        check ((state = 'checking') = (decided_at is null)),
        check (state = 'confirmed' or signature is not null)
      ) with (fillfactor = 70)`);
    this.addSql(`create index tickets_due on tickets (next_at) where state = 'checking'`);
    this.addSql(`create index tickets_checking on tickets (wallet) where state = 'checking'`);
    this.addSql(`create index tickets_settling on tickets (round, asked_at) where state = 'checking'`);
    this.addSql(`create index tickets_confirmed on tickets (round, id) where state = 'confirmed'`);
    // A transaction pays for at most one ticket, across all rounds and wallets.
    this.addSql(`create unique index tickets_paid_by on tickets (signature) where state in ('confirmed', 'refunded')`);
    this.addSql(`
      create function guard_ticket() returns trigger language plpgsql as $$ begin
        if (new.id, new.round, new.wallet, new.signature) is distinct from (old.id, old.round, old.wallet, old.signature)
        then raise exception 'ticket % never changes its round, wallet or signature', old.id using errcode = 'restrict_violation'; end if;
        if (old.state = 'refunded' or (old.state = 'refused' and old.found)) or (old.state = 'confirmed' and new.state <> 'refunded')
        then raise exception 'ticket % is decided, and this decision never changes', old.id using errcode = 'restrict_violation'; end if;
        return new;
      end $$`);
    this.addSql(`create trigger tickets_guarded before update on tickets for each row execute function guard_ticket()`);
    this.addSql(`create trigger tickets_kept before delete on tickets for each row execute function refuse_change()`);
  }

  private schedule(): void {
    // The table is empty until the schedule is started for the first time; from then on it has one row. Columns:
    //   `next_at`: the time at which the next round is due; null while the schedule is stopped.
    //   `interval_sec`: the time between two rounds, seconds.
    //   `rounds`: the number of rounds created so far. It is also the number of the newest round.
    //   `pending`: a round that was created but may not have started yet; the next run of the scheduler continues with this round.
    //   `look_at`: a lease; no run begins before this time, because another run is in progress or has just failed.
    this.addSql(`
      create table round_schedule (
        singleton boolean primary key default true check (singleton),
        interval_sec int not null check (interval_sec between 10 and 2592000),
        template jsonb not null,
        started_by text not null,
        next_at timestamptz(3),
        rounds int not null default 0,
        pending uuid unique references rounds,
        look_at timestamptz not null default app_now(),
        last_round uuid references rounds,
        last_started_at timestamptz(3),
        last_error text
      )`);
  }
}
