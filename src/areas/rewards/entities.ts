import { defineEntity } from '@mikro-orm/core';
import {
  bigint,
  bytes,
  byteText,
  checks,
  index,
  integer,
  jsonb,
  numeric,
  oneOf,
  reference,
  smallint,
  text,
  timestamp,
  tokenAmount,
  trigger,
  uuid,
  wallet,
} from '#platform/db/columns.ts';
import { ChainRecordTable } from './restores/entities.ts';

/**
 * A row is a reward epoch: the distribution of one UTC day. The first worker that inserts the row creates the epoch. A row is deleted only when its
 * import is refused.
 */
export const EpochsTable = defineEntity({
  name: 'Epochs',
  tableName: 'epochs',
  properties: {
    /** UTC days since 1970-01-01. */
    epoch: integer().primary(),
    /**
     * computing: the leaves are being computed. empty: no wallet is paid. computed: the leaves and the root are fixed. committed: the root is
     * finalized on the chain, so wallets can claim. expired: the time to claim is over. settled: unclaimed rewards were settled off-chain.
     */
    state: oneOf('computing', 'empty', 'computed', 'committed', 'expired', 'settled').default('computing'),
    /** computed: from the points of the day. import: from uploaded amounts. */
    source: oneOf('computed', 'import'),
    /** Amounts are base units of the reward token. `pool`, `cap`, `dust` and `expiryDays` are copies of the values in the reward rules. */
    pool: tokenAmount(),
    cap: tokenAmount().nullable(),
    dust: tokenAmount(),
    expiryDays: integer(),
    /** Version of the reward rules that applied when the row was created. */
    rulesVersion: integer(),
    /** Version of the allocation formula. */
    formula: smallint(),
    /** Number of rows of the epoch in `reward_leaves`. */
    wallets: integer().nullable(),
    /** Sum of the points of all wallets; null for an import, because an import has no points. */
    points: bigint().nullable(),
    /** Number of the epoch's rows in `reward_leaves` with an amount above 0. */
    leaves: integer().nullable(),
    /** Sum of the amounts of all leaves. `total` and `undistributed` add up to `pool`. */
    total: tokenAmount().nullable(),
    undistributed: tokenAmount().nullable(),
    /** Merkle root of the leaves; null when there are no leaves. */
    root: bytes().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    computedAt: timestamp().nullable(),
    committedAt: timestamp().nullable(),
    /** Signature of the transaction that opened the epoch on the chain; null when this transaction is not known. */
    commitSignature: byteText().nullable(),
    /** Time until which rewards can be claimed. */
    expiresAt: timestamp().nullable(),
    settleRequestedAt: timestamp().nullable(),
    /** Finalized block height after which nothing can land that was signed before the settlement was requested. */
    settleAfterHeight: bigint().nullable(),
    /** Root on the chain that the operator wants to settle although it differs from `root`. */
    settleRoot: bytes().nullable(),
    settledAt: timestamp().nullable(),
    settleSignature: byteText().nullable(),
  },
  checks: checks(
    "state = 'computing' or (ROW(wallets, leaves, total, undistributed, computed_at) is not null)",
    '((total)::numeric + (undistributed)::numeric) = (pool)::numeric',
    'leaves <= wallets',
    '(leaves > 0) = (root is not null)',
    '(leaves > 0) = ((total)::numeric > (0)::numeric)',
    "state <> 'empty' or leaves = 0",
    "state not in ('computed', 'committed', 'expired') or leaves > 0",
    'epoch >= 0',
    'octet_length(root) = 32',
  ),
  indexes: [index('create index epochs_state on epochs (state, epoch)')],
});

/** A row is a leaf that a wallet has claimed or has requested to claim. */
export const ClaimsTable = defineEntity({
  name: 'Claims',
  tableName: 'claims',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    epoch: reference(EpochsTable, 'epoch'),
    /** Index of the leaf in the Merkle tree of the epoch. */
    index: integer(),
    wallet: wallet(),
    /** Base units. */
    amount: tokenAmount(),
    /**
     * queued: not signed yet. submitted: signed and sent. confirmed: on the chain, but a fork can still drop it. claimed: finalized. failed: the
     * wallet can request the claim again.
     */
    state: oneOf('queued', 'submitted', 'confirmed', 'claimed', 'failed'),
    signature: byteText().nullable(),
    /** Null when a transaction of another service claimed the leaf. */
    requestedBy: wallet().nullable(),
    /** Merkle proof from the leaf to the root, 32 bytes per node. It is stored until the leaf is claimed. */
    proof: bytes().nullable(),
    /** Reason why the claim failed; null in the other states. */
    reason: text().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('(amount)::numeric > (0)::numeric', "state in ('claimed', 'failed') or proof is not null"),
  uniques: [{ name: 'claims_epoch_index_key', properties: ['epoch', 'index'] }],
  indexes: [index('create index claims_wallet on claims (wallet, created_at desc, id desc)')],
});

/** A row is an epoch whose root is on the chain or will be submitted soon, with its addresses. */
export const EpochAccountsTable = defineEntity({
  name: 'EpochAccounts',
  tableName: 'epoch_accounts',
  properties: {
    epoch: reference(EpochsTable, 'epoch').primary(),
    /** Address of the epoch account. The stored addresses stay the same when the keys in the configuration change. */
    address: byteText(),
    program: byteText(),
    authority: byteText(),
    mint: byteText(),
    vault: byteText(),
    expiresAt: timestamp(),
    /** Time at which the worker learned that the root was finalized. */
    openedAt: timestamp().nullable(),
    /** Time at which no more claims were possible and all claims were known. */
    endedAt: timestamp().nullable(),
    /** Time at which the unclaimed tokens were returned to the treasury. */
    closedAt: timestamp().nullable(),
    /** Root, total and number of leaves of the account on the chain; null when they equal those of the epoch. */
    otherRoot: bytes().nullable(),
    otherTotal: tokenAmount().nullable(),
    otherLeaves: integer().nullable(),
    /** Finalized amount of all claims, base units. */
    claimed: tokenAmount().default(0),
    /** Finalized number of claims. */
    claims: integer().default(0),
    /** Signature of the last transaction that the worker read from the transaction history of the account. */
    cursor: byteText().nullable(),
    /** Slot of this transaction. */
    cursorSlot: bigint().defaultRaw('0'),
    /** Value of `claims` when the worker read this transaction. */
    cursorClaims: integer().default(0),
    /** Counter that grows with each run of the worker in which the account shows more claims than its transaction history. */
    gaps: integer().default(0),
  },
  checks: checks('claims >= 0', 'num_nulls(other_root, other_total, other_leaves) = any(array[0, 3])'),
  indexes: [index('create index epoch_accounts_followed on epoch_accounts (epoch) where opened_at is not null and closed_at is null')],
});

/** A row is an import of rewards, with its outcome. */
export const RewardImportsTable = defineEntity({
  name: 'RewardImports',
  tableName: 'reward_imports',
  properties: {
    id: uuid().primary(),
    /** The epoch that is imported. No reference, because the row of the epoch is deleted when the import is refused. */
    epoch: integer(),
    /** waiting: a second token must approve the import, and the epoch is not created yet. building: the epoch is being computed. */
    state: oneOf('waiting', 'building', 'done', 'refused').default('building'),
    /** SHA-256 of the imported rows in the given order. Each row is hashed as its wallet (32 bytes) followed by its amount (u64, little-endian). */
    hash: bytes(),
    /** Root that the caller announced; null when the caller announced none. */
    root: bytes().nullable(),
    /** Number of imported rows. */
    rows: integer(),
    /** Reason why the import is refused. */
    reason: text().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    decidedAt: timestamp().nullable(),
  },
  checks: checks("(state in ('waiting', 'building')) = (decided_at is null)", "(state = 'refused') = (reason is not null)"),
  indexes: [index("create unique index reward_imports_standing on reward_imports (epoch) where state <> 'refused'")],
});

/** A row is a page of imported rewards. It is deleted when the import is done or refused. */
export const RewardImportPagesTable = defineEntity({
  name: 'RewardImportPages',
  tableName: 'reward_import_pages',
  properties: {
    import: reference(RewardImportsTable, 'import').primary(),
    /** Counts from 0. */
    page: integer().primary(),
    /** Comma-separated wallet addresses. */
    wallets: text(),
    /** Comma-separated amounts in base units, in the order of the wallets. */
    amounts: text(),
  },
});

/**
 * A row is a wallet that has points on the day of an epoch, or that the import of the epoch contains. Rows are never changed or deleted. There is no
 * foreign key, because checking it would cost more than inserting the row.
 */
export const RewardLeavesTable = defineEntity({
  name: 'RewardLeaves',
  tableName: 'reward_leaves',
  properties: {
    epoch: integer().primary(),
    /**
     * Rows with an amount above 0 come first: their index is also the index of their leaf in the tree. They are sorted by wallet address; imported
     * rows keep the order of the import.
     */
    index: integer().primary(),
    wallet: wallet(),
    /** Null for an imported row. */
    points: bigint().nullable(),
    /** Base units. A row with the amount 0 is no leaf. */
    amount: numeric('numeric(20,0)'),
  },
  checks: checks('amount >= (0)::numeric', 'index >= 0'),
  uniques: [{ name: 'reward_leaves_epoch_wallet_key', properties: ['epoch', 'wallet'] }],
  triggers: [
    trigger(
      'create trigger reward_leaves_fixed before delete or update or truncate on reward_leaves for each statement execute function refuse_change()',
    ),
  ],
});

/** A row caches the rewards that wallets would get if the current day ended now. */
export const RewardProjectionsTable = defineEntity({
  name: 'RewardProjections',
  tableName: 'reward_projections',
  properties: {
    /** UTC days since 1970-01-01. */
    day: integer().primary(),
    /** Number of ledger rows from which the cached rewards were computed. */
    entries: bigint(),
    /** Version of the reward rules with which they were computed. */
    rulesVersion: integer(),
    /** Stored form of `Projection` in projection/projection.ts. */
    projection: jsonb(),
    /** Duration of the computation, ms. */
    tookMs: integer(),
    at: timestamp(),
  },
});

/**
 * A row is a part of the Merkle tree of an epoch. Rows are never changed or deleted. Two levels are stored; the other levels are computed from them.
 */
export const RewardTreesTable = defineEntity({
  name: 'RewardTrees',
  tableName: 'reward_trees',
  properties: {
    epoch: integer().primary(),
    /** 0: the leaf hashes, 32 hashes per row. 5: one row with the roots of all chunks of level 0. */
    level: smallint().primary(),
    /** Position of the row in its level, from 0. */
    chunk: integer().primary(),
    /** 32 bytes per hash. */
    hashes: bytes(),
  },
  checks: checks('(octet_length(hashes) % 32) = 0'),
  triggers: [
    trigger(
      'create trigger reward_trees_fixed before delete or update or truncate on reward_trees for each statement execute function refuse_change()',
    ),
  ],
});

/** Tables of this area. */
export const rewardsTables = [
  EpochsTable,
  ClaimsTable,
  EpochAccountsTable,
  RewardImportsTable,
  RewardImportPagesTable,
  RewardLeavesTable,
  RewardProjectionsTable,
  RewardTreesTable,
  ChainRecordTable,
] as const;
