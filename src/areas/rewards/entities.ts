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

export const EpochsTable = defineEntity({
  name: 'Epochs',
  tableName: 'epochs',
  properties: {
    epoch: integer().primary(),
    state: oneOf('computing', 'empty', 'computed', 'committed', 'expired', 'settled').default('computing'),
    source: oneOf('computed', 'import'),
    pool: tokenAmount(),
    cap: tokenAmount().nullable(),
    dust: tokenAmount(),
    expiryDays: integer(),
    rulesVersion: integer(),
    formula: smallint(),
    wallets: integer().nullable(),
    points: bigint().nullable(),
    leaves: integer().nullable(),
    total: tokenAmount().nullable(),
    undistributed: tokenAmount().nullable(),
    root: bytes().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    computedAt: timestamp().nullable(),
    committedAt: timestamp().nullable(),
    commitSignature: byteText().nullable(),
    expiresAt: timestamp().nullable(),
    settleRequestedAt: timestamp().nullable(),
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

export const ClaimsTable = defineEntity({
  name: 'Claims',
  tableName: 'claims',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    epoch: reference(EpochsTable, 'epoch'),
    index: integer(),
    wallet: wallet(),
    amount: tokenAmount(),
    state: oneOf('queued', 'submitted', 'confirmed', 'claimed', 'failed'),
    signature: byteText().nullable(),
    requestedBy: wallet().nullable(),
    proof: bytes().nullable(),
    reason: text().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('(amount)::numeric > (0)::numeric', "state in ('claimed', 'failed') or proof is not null"),
  uniques: [{ name: 'claims_epoch_index_key', properties: ['epoch', 'index'] }],
});

export const EpochAccountsTable = defineEntity({
  name: 'EpochAccounts',
  tableName: 'epoch_accounts',
  properties: {
    epoch: reference(EpochsTable, 'epoch').primary(),
    address: byteText(),
    program: byteText(),
    authority: byteText(),
    mint: byteText(),
    vault: byteText(),
    expiresAt: timestamp(),
    openedAt: timestamp().nullable(),
    endedAt: timestamp().nullable(),
    closedAt: timestamp().nullable(),
    claimed: tokenAmount().default(0),
    claims: integer().default(0),
    cursor: byteText().nullable(),
    cursorSlot: bigint().defaultRaw('0'),
    cursorClaims: integer().default(0),
    gaps: integer().default(0),
  },
  checks: checks('claims >= 0'),
  indexes: [index('create index epoch_accounts_followed on epoch_accounts (epoch) where opened_at is not null and closed_at is null')],
});

export const RewardImportsTable = defineEntity({
  name: 'RewardImports',
  tableName: 'reward_imports',
  properties: {
    id: uuid().primary(),
    epoch: integer(),
    state: oneOf('building', 'done', 'refused').default('building'),
    hash: bytes(),
    root: bytes().nullable(),
    rows: integer(),
    reason: text().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    decidedAt: timestamp().nullable(),
  },
  checks: checks("(state = 'building') = (decided_at is null)", "(state = 'refused') = (reason is not null)"),
  indexes: [index("create unique index reward_imports_standing on reward_imports (epoch) where state <> 'refused'")],
});

export const RewardImportPagesTable = defineEntity({
  name: 'RewardImportPages',
  tableName: 'reward_import_pages',
  properties: {
    import: reference(RewardImportsTable, 'import').primary(),
    page: integer().primary(),
    wallets: text(),
    amounts: text(),
  },
});

export const RewardLeavesTable = defineEntity({
  name: 'RewardLeaves',
  tableName: 'reward_leaves',
  properties: {
    epoch: integer().primary(),
    index: integer().primary(),
    wallet: wallet(),
    points: bigint().nullable(),
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

export const RewardProjectionsTable = defineEntity({
  name: 'RewardProjections',
  tableName: 'reward_projections',
  properties: {
    day: integer().primary(),
    entries: bigint(),
    rulesVersion: integer(),
    projection: jsonb(),
    tookMs: integer(),
    at: timestamp(),
  },
});

export const RewardTreesTable = defineEntity({
  name: 'RewardTrees',
  tableName: 'reward_trees',
  properties: {
    epoch: integer().primary(),
    level: smallint().primary(),
    chunk: integer().primary(),
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
] as const;
