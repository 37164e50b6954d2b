import { defineEntity } from '@mikro-orm/core';
import {
  bigint,
  bytes,
  byteText,
  checks,
  index,
  integer,
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
import { RewardImportPagesTable, RewardImportsTable } from './import/entities.ts';
import { RewardProjectionsTable } from './projection/entities.ts';
import { ChainRecordTable } from './restores/entities.ts';
import { RewardAllocationsTable, RewardExclusionsTable } from './review/entities.ts';

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
    /** Number of the allocation in force, from 1. The next columns describe this allocation; `reward_allocations` has the earlier ones. */
    allocation: smallint().default(1),
    /** Number of rows of the allocation in `reward_leaves`. */
    wallets: integer().nullable(),
    /** Sum of the points of all wallets; null for an import, because an import has no points. */
    points: bigint().nullable(),
    /** Number of the allocation's rows in `reward_leaves` with an amount above 0. */
    leaves: integer().nullable(),
    /** Sum of the amounts of all leaves. `total` and `undistributed` add up to `pool`. */
    total: tokenAmount().nullable(),
    undistributed: tokenAmount().nullable(),
    /** Merkle root of the leaves; null when there are no leaves. */
    root: bytes().nullable(),
    /** SHA-256 and length of the points file; null for an import, and until the file is stored. */
    pointsHash: bytes().nullable(),
    pointsBytes: integer().nullable(),
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
    /** Time before which the root is not signed; null for an epoch without a review. */
    reviewEndsAt: timestamp().nullable(),
    /** First change of the exclusions that the allocation in force does not include; null when it includes all changes. */
    exclusionsChangedAt: timestamp().nullable(),
    /** Copies of the values in the reward rules, like `pool`. */
    minPlayDays: smallint().default(0),
    minAcceptedScores: integer().default(0),
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
    'octet_length(points_hash) = 32',
    'points_bytes > 0',
    '(points_hash is null) = (points_bytes is null)',
    "source = 'computed' or points_hash is null",
    'allocation > 0',
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
    /** Unused. A later release drops the column, because processes of the previous release read it. */
    gaps: integer().default(0),
  },
  checks: checks('claims >= 0', 'num_nulls(other_root, other_total, other_leaves) = any(array[0, 3])'),
  indexes: [index('create index epoch_accounts_followed on epoch_accounts (epoch) where opened_at is not null and closed_at is null')],
});

/** A row is a claim whose signature is searched in the transaction history of the wallet's token account, from the newest transaction back. */
export const ClaimSearchesTable = defineEntity({
  name: 'ClaimSearches',
  tableName: 'claim_searches',
  properties: {
    claim: reference(ClaimsTable, 'claim').primary(),
    /** Finalized slot at which the leaf was claimed. The transaction is in this slot or an earlier one. */
    slot: bigint(),
    /** Signature of the oldest transaction that was read; null at the beginning. */
    before: byteText().nullable(),
    nextAt: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index claim_searches_due on claim_searches (next_at)')],
});

/**
 * A row is a wallet of an allocation: it has points on the day of the epoch and is not excluded, or the import of the epoch contains it. Rows are
 * never changed or deleted. There is no foreign key, because checking it would cost more than inserting the row.
 */
export const RewardLeavesTable = defineEntity({
  name: 'RewardLeaves',
  tableName: 'reward_leaves',
  properties: {
    epoch: integer().primary(),
    allocation: smallint().primary().default(1),
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
  uniques: [{ name: 'reward_leaves_epoch_allocation_wallet_key', properties: ['epoch', 'allocation', 'wallet'] }],
  triggers: [
    trigger(
      'create trigger reward_leaves_fixed before delete or update or truncate on reward_leaves for each statement execute function refuse_change()',
    ),
  ],
});

/**
 * A row is a part of the Merkle tree of an allocation. Rows are never changed or deleted. Two levels are stored; the other levels are computed from them.
 */
export const RewardTreesTable = defineEntity({
  name: 'RewardTrees',
  tableName: 'reward_trees',
  properties: {
    epoch: integer().primary(),
    allocation: smallint().primary().default(1),
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
  ClaimSearchesTable,
  RewardImportsTable,
  RewardImportPagesTable,
  RewardLeavesTable,
  RewardProjectionsTable,
  RewardTreesTable,
  RewardAllocationsTable,
  RewardExclusionsTable,
  ChainRecordTable,
] as const;
