import { Migration } from '@mikro-orm/migrations';

/** Creates reward epochs, their leaves and Merkle trees, imports, and the projection of the current day. */
export class Migration0007Rewards extends Migration {
  override up(): void {
    this.addSql(`create domain token_amount as numeric(20) check (value between 0 and 18446744073709551615)`);

    // One row per UTC day, created by the worker that is first to insert it, and never deleted. States:
    //   computing  the leaves are being computed; only the rules are fixed
    //   empty      there are no leaves: no wallet is paid, and the epoch never goes on chain
    //   computed   leaves, total and root are fixed
    //   committed  the root is finalized on chain and funded; rewards can be claimed until expires_at
    //   expired    the time to claim is over
    //   settled    unclaimed rewards were settled off-chain; the epoch cannot be committed or claimed any more
    // rules_version: version of the rules in force when the row was created; pool, cap, dust and expiry_days are copied from these rules. formula:
    // version of the allocation formula. wallets: number of rows in reward_leaves. leaves: number of these rows with an amount above 0. points: sum
    // of the points of all wallets; null for an import.
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

    // One row per wallet that has points on the day, or that the import contains. Rows with an amount above 0 have the indexes 0 to epochs.leaves −
    // 1, which are the indexes of their leaves in the tree. They are sorted by address (ascending); in an import, they keep the given order. Rows
    // with amount 0 follow. There is no foreign key, because its check would cost more than the insert of the row.
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

    // Stored levels of the Merkle tree of an epoch. Level 0: the hashes of the leaves, 32 per row (chunk). Level 5: one row with the roots of all
    // chunks. The other levels are computed from these two. Hashes are stored uncompressed, because they do not compress.
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

    // Imports of rewards and their outcome. hash: SHA-256 of the imported rows in the given order, each row as wallet (32 bytes) ‖ amount (u64 LE).
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
    // The rows of an import, until the import is done or refused. wallets, amounts: comma-separated lists of equal length.
    this.addSql(`
      create table reward_import_pages (
        import uuid not null references reward_imports, page int not null,
        wallets text not null, amounts text not null,
        primary key (import, page)
      )`);
    for (const column of ['wallets', 'amounts']) this.addSql(`alter table reward_import_pages alter column ${column} set storage external`);

    // A cache of the rewards that the current day would give if the day ended now. It is recomputed while points are added. entries: number of ledger
    // rows that the cached rewards include.
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
