import { Migration } from '@mikro-orm/migrations';

/** Reward epochs: what each gives to whom, the trees that prove it, imports, and what today would give. */
export class Migration0007Rewards extends Migration {
  override up(): void {
    this.addSql(`create domain token_amount as numeric(20) check (value between 0 and 18446744073709551615)`);

    // One row per UTC day, for ever; made once, by whoever is first.
    //   computing  its leaves are being made; nothing but its rules is known
    //   empty      there are none: nothing to pay, it never goes on the chain
    //   computed   leaves, total and root are fixed
    //   committed  the root is on the chain, finally, and funded: it can be claimed until expires_at
    //   expired    that is over
    //   settled    what was not claimed is settled off-chain; it is never committed from then on, and cannot be claimed
    // pool, cap, dust, expiry_days: the rules in force when the row was made, of which version. formula: how they were applied.
    // wallets: rows in reward_leaves; leaves: those of them that are paid. points: of all wallets; unknown of an import.
    this.addSql(`
      create table epochs (
        epoch int primary key check (epoch >= 0),
        state text not null default 'computing'
          check (state in ('computing', 'empty', 'computed', 'committed', 'expired', 'settled')),
        source text not null check (source in ('computed', 'import')),
        pool token_amount not null,
        cap token_amount,
        dust token_amount not null,
        expiry_days int not null,
        rules_version int not null,
        formula smallint not null,
        wallets int,
        points bigint,
        leaves int,
        total token_amount,
        undistributed token_amount,
        root bytea check (octet_length(root) = 32),
        created_at timestamptz not null default app_now(),
        computed_at timestamptz,
        committed_at timestamptz,
        commit_signature text collate "C",
        expires_at timestamptz,
        settle_requested_at timestamptz,
        settled_at timestamptz,
        settle_signature text collate "C",
        check (state = 'computing' or (wallets, leaves, total, undistributed, computed_at) is not null),
        check (total + undistributed = pool),
        check (leaves <= wallets),
        check ((leaves > 0) = (root is not null)),
        check ((leaves > 0) = (total > 0)),
        check (state <> 'empty' or leaves = 0),
        check (state not in ('computed', 'committed', 'expired') or leaves > 0)
      )`);
    this.addSql(`create index epochs_state on epochs (state, epoch)`);

    // Every wallet with points of the day, or of the import. Those that are paid come first: their index is that of their leaf in the
    // tree, 0 to epochs.leaves − 1, in ascending order of addresses (an import: in the order given). Those that are not (amount 0) follow.
    // No foreign key: a check per row would cost more than the row.
    this.addSql(`
      create table reward_leaves (
        epoch int not null,
        index int not null check (index >= 0),
        wallet wallet not null,
        points bigint,
        amount numeric(20) not null check (amount >= 0),
        primary key (epoch, index),
        unique (epoch, wallet)
      )`);

    // Level 0: the hashes of 32 leaves a chunk. Level 5: the roots of all those chunks in one. What lies between and above follows from
    // these by hashing. A hash does not compress.
    this.addSql(`
      create table reward_trees (
        epoch int not null, level smallint not null, chunk int not null,
        hashes bytea not null check (octet_length(hashes) % 32 = 0),
        primary key (epoch, level, chunk)
      )`);
    this.addSql(`alter table reward_trees alter column hashes set storage external`);
    for (const table of ['reward_leaves', 'reward_trees']) {
      this.addSql(
        `create trigger ${table}_fixed before update or delete or truncate on ${table} for each statement execute function refuse_change()`,
      );
    }

    // What was imported, and what became of it. hash: SHA-256 of its rows, wallet (32 bytes) ‖ amount (u64 LE), in the order given.
    this.addSql(`
      create table reward_imports (
        id uuid primary key,
        epoch int not null,
        state text not null default 'building' check (state in ('building', 'done', 'refused')),
        hash bytea not null,
        root bytea,
        rows int not null,
        reason text,
        created_at timestamptz not null default app_now(),
        decided_at timestamptz,
        check ((state = 'building') = (decided_at is null)),
        check ((state = 'refused') = (reason is not null))
      )`);
    this.addSql(`create unique index reward_imports_standing on reward_imports (epoch) where state <> 'refused'`);
    // The rows of an import until it is done or refused: lists with commas, the same length both.
    this.addSql(`
      create table reward_import_pages (
        import uuid not null references reward_imports, page int not null,
        wallets text not null, amounts text not null,
        primary key (import, page)
      )`);
    for (const column of ['wallets', 'amounts']) this.addSql(`alter table reward_import_pages alter column ${column} set storage external`);

    // What the running day would give if it ended now: a cache, made anew while points come in. entries: ledger rows it was made of.
    this.addSql(`
      create table reward_projections (
        day int primary key,
        entries bigint not null,
        rules_version int not null,
        projection jsonb not null,
        took_ms int not null,
        at timestamptz not null
      )`);
  }
}
