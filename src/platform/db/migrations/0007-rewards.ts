import { Migration } from '@mikro-orm/migrations';

/** Creates reward epochs, their leaves and Merkle trees, imports, and the projection of the current day. */
export class Migration0007Rewards extends Migration {
  override up(): void {
    this.addSql(`create domain token_amount as numeric(20) check (value between 0 and 18446744073709551615)`);

    // One row per UTC day, created once by the first worker and never deleted. States:
    //   computing  the leaves are being computed; only the rules are fixed
    //   empty      there are no leaves: nothing to pay, the epoch never goes on chain
    //   computed   leaves, total and root are fixed
    //   committed  the root is finalized on chain and funded; rewards can be claimed until expires_at
    //   expired    the time to claim is over
    //   settled    unclaimed rewards were settled off-chain; the epoch cannot be committed or claimed any more
    // pool, cap, dust, expiry_days: the rules in force when the row was created, and their version. formula: version of the allocation. wallets: rows
    // in reward_leaves; leaves: the rows among them with an amount. points: of all wallets; null for an import.
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

    // Every wallet with points on the day, or of the import. Rows with an amount come first: index is the index of the leaf in the tree, 0 to
    // epochs.leaves − 1, in ascending order of addresses (an import: in the given order). Rows with amount 0 follow. There is no foreign key, because
    // its check would cost more than the row.
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

    // Level 0: the hashes of 32 leaves per chunk. Level 5: the roots of all these chunks in one row. The other levels are computed from these. Hashes
    // are stored uncompressed, because they do not compress.
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

    // Imports and their outcome. hash: SHA-256 of the rows, wallet (32 bytes) ‖ amount (u64 LE), in the given order.
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
    // The rows of an import until it is done or refused: two comma-separated lists of equal length.
    this.addSql(`
      create table reward_import_pages (
        import uuid not null references reward_imports, page int not null,
        wallets text not null, amounts text not null,
        primary key (import, page)
      )`);
    for (const column of ['wallets', 'amounts']) this.addSql(`alter table reward_import_pages alter column ${column} set storage external`);

    // A cache of the rewards that the current day would give if it ended now, recomputed while points are added. entries: number of ledger rows that
    // it includes.
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
