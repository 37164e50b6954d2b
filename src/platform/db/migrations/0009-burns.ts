import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for burn events, the burns that are read from the chain, and the boards of burn events. */
export class Migration0009Burns extends Migration {
  override up(): void {
    // A burn counts if `activated_at` ≤ block time < `ends_at`. From `final_at` on, the list of burns is complete and fixed. `burned` is the sum of
    // all burns of the event; `referral`, `game` and `social` are the sums by source. They are stored, so that no query has to add up the rows of
    // `burns`.
    this.addSql(`
      create table burn_events (
        id uuid primary key,
        title text not null,
        description text,
        mint wallet not null,
        duration_sec int not null check (duration_sec between 3600 and 2592000),
        created_by wallet not null,
        created_at timestamptz not null default app_now(),
        state text not null default 'pending' check (state in ('pending', 'active', 'ended')),
        activated_at timestamptz,
        ends_at timestamptz check (ends_at >= activated_at),
        final_at timestamptz,
        participants int not null default 0,
        burned numeric not null default 0,
        referral numeric not null default 0,
        game numeric not null default 0,
        social numeric not null default 0,
        check ((state = 'pending') = (activated_at is null) and (activated_at is null) = (ends_at is null)),
        check (final_at is null or state = 'ended')
      )`);
    this.addSql(`create unique index burn_events_one_active on burn_events ((true)) where state = 'active'`);
    this.addSql(`create index burn_events_watched on burn_events (mint) where state <> 'pending' and final_at is null`);
    this.addSql(`create index burn_events_begun on burn_events (activated_at desc) where state <> 'pending'`);
    this.addSql(`create index burn_events_pending on burn_events (created_by, created_at) where state = 'pending'`);

    // One row per burn instruction. `named` is the source (referral, game or social) that the memo of the transaction names. `source` is the same
    // value if the service has verified the source, otherwise null.
    this.addSql(`
      create table burns (
        signature text collate "C" not null,
        index smallint not null,
        event_id uuid not null references burn_events,
        wallet wallet not null,
        amount numeric not null check (amount > 0),
        named text not null check (named in ('referral', 'game', 'social')),
        source text check (source = named),
        slot bigint not null,
        block_time timestamptz not null,
        recorded_at timestamptz not null default app_now(),
        primary key (signature, index)
      )`);

    this.addSql(`
      create table burn_standings (
        event_id uuid not null references burn_events,
        board text collate "C" not null check (board in ('total', 'referral', 'game', 'social')),
        wallet wallet not null,
        amount numeric not null,
        primary key (event_id, board, wallet)
      )`);
    this.addSql(`create index burn_standings_order on burn_standings (event_id, board, amount, wallet)`);
    // Number of standings per range of a board, so that the service computes a rank without counting all higher standings. Each range has a key
    // (`amount`, `wallet`). A standing is counted in the range with the lowest key among the keys that equal the standing or are higher. The highest
    // range of a board has the `amount` infinity, so that every standing has a range.
    this.addSql(`
      create table burn_ranges (
        event_id uuid not null references burn_events,
        board text collate "C" not null,
        amount numeric not null,
        wallet wallet not null,
        n int not null check (n >= 0),
        primary key (event_id, board, amount, wallet)
      ) with (fillfactor = 50)`);

    // Transactions that may contain a burn. `likely` says whether the memo of the transaction names a burn event; it is always false when the RPC
    // node does not return memos.
    this.addSql(`
      create table burn_transactions (
        signature text collate "C" primary key,
        mint wallet not null,
        slot bigint not null,
        block_time timestamptz,
        likely boolean not null,
        tries int not null default 0,
        next_at timestamptz not null default app_now(),
        found_at timestamptz not null default app_now(),
        read_at timestamptz
      )`);
    this.addSql(`create index burn_transactions_unread on burn_transactions (mint, likely desc, slot) where read_at is null`);
    this.addSql(`create index burn_transactions_read on burn_transactions (read_at) where read_at is not null`);
    // Progress of the worker in the transaction history of a mint. Columns:
    //   `slot`: the slot of the newest signature that the worker knows; each older signature was read or lies in a gap (table `burn_gaps`).
    //   `deep_at`: the time at which the worker reads the newest part of the history again.
    this.addSql(`create table burn_cursors (mint wallet primary key, slot bigint not null, deep_at timestamptz not null)`);
    // A gap: signatures of a mint's transaction history that the worker has not read yet. They are older than the signature `before` and go back to
    // the slot `floor`. `next_at` is the time of the next attempt to read the gap; it is set to a later time when no RPC node has these signatures.
    this.addSql(`
      create table burn_gaps (
        mint wallet not null,
        before text collate "C" not null,
        before_slot bigint not null,
        before_time timestamptz,
        floor bigint not null,
        next_at timestamptz not null default app_now(),
        primary key (mint, before)
      )`);
  }

  override down(): void {
    this.addSql('drop table burn_gaps, burn_cursors, burn_transactions, burn_ranges, burn_standings, burns, burn_events');
  }
}
