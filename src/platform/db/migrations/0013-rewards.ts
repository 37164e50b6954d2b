import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for reward epochs, their leaves and Merkle trees, imports, the projection of the current day, the on-chain accounts of epochs, and claims. */
export class Migration0013Rewards extends Migration {
  override up(): void {
    this.epochs();
    this.imports();
    this.claims();
  }

  override down(): void {
    this.addSql('drop table claims, epoch_accounts, reward_projections, reward_import_pages, reward_imports, reward_trees, reward_leaves, epochs');
    this.addSql('drop domain token_amount');
  }

  private epochs(): void {
    this.addSql(`create domain token_amount as numeric(20) check (value between 0 and 18446744073709551615)`);

    // One row per UTC day, never deleted. The first worker that inserts the row creates the epoch. States:
    //   `computing`: The leaves are being computed; only the rules are fixed.
    //   `empty`: There are no leaves, so no wallet is paid and the epoch never goes on chain.
    //   `computed`: The leaves, the total and the root are fixed.
    //   `committed`: The root is finalized on chain and funded; wallets can claim their rewards until `expires_at`.
    //   `expired`: The time to claim is over.
    //   `settled`: Unclaimed rewards were settled off-chain; the epoch cannot be committed or claimed any more.
    // Columns:
    //   `rules_version`: the version of the reward rules that applied when the row was created.
    //   `pool`, `cap`, `dust`, `expiry_days`: copies of the values in these rules.
    //   `formula`: the version of the allocation formula.
    //   `wallets`: the number of rows of the epoch in `reward_leaves`.
    //   `leaves`: the number of these rows with an amount above 0.
    //   `points`: the sum of the points of all wallets; null for an import, because an import has no points.
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

    // One row per wallet that has points on the day of the epoch, or that the imported rewards of the epoch contain. Rows with an amount above 0 come
    // first: Their `index` runs from 0 to `epochs.leaves` − 1, and is also the index of their leaf in the tree. They are sorted by wallet address in
    // ascending order; imported rows keep the order of the import. The rows with amount 0 follow. The table has no foreign key, because checking it
    // would cost more than inserting the row.
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

    // Two levels of the Merkle tree of an epoch; the other levels are computed from these two levels. Level 0 contains the leaf hashes in rows of 32
    // hashes (chunks). Level 5 is one row with the roots of all chunks, because a tree of 32 leaves has its root at level 5. `hashes` is stored
    // uncompressed, because compression does not make hashes smaller.
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
  }

  private imports(): void {
    // Imports of rewards and their outcome. `hash` is the SHA-256 of the imported rows in the given order; each row is hashed as its wallet (32
    // bytes) followed by its amount (u64, little-endian).
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
    // The imported rewards, many per table row. `wallets` and `amounts` are comma-separated lists of equal length. The table rows are deleted when
    // the import is done or refused.
    this.addSql(`
      create table reward_import_pages (
        import uuid not null references reward_imports, page int not null,
        wallets text not null, amounts text not null,
        primary key (import, page)
      )`);
    for (const column of ['wallets', 'amounts']) this.addSql(`alter table reward_import_pages alter column ${column} set storage external`);

    // A cache of the rewards that wallets would get if the current day ended now. The service recomputes the cache while points are added. `entries`
    // is the number of ledger rows from which the cached rewards were computed.
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

  private claims(): void {
    // Epochs whose root is on chain or will be submitted soon. Columns:
    //   `claimed`: the finalized amount of all claims.
    //   `claims`: the finalized number of claims.
    //   `opened_at`: the time at which the worker learned that the root was finalized.
    //   `ended_at`: the time at which no more claims were possible and all claims were known.
    //   `closed_at`: the time at which the unclaimed tokens were returned to the treasury.
    //   `cursor`: the signature of the last transaction that the worker read from the transaction history of the account.
    //   `cursor_claims`: the value of `claims` when the worker read this transaction.
    //   `gaps`: a counter that grows with each run of the worker in which the account shows more claims than its transaction history.
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

    // One row per leaf that a wallet has claimed or has requested to claim. `requested_by` is null when a transaction of another service claimed the
    // leaf. `proof` is the Merkle proof from the leaf to the root, 32 bytes per node; it is stored until the leaf is claimed.
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
