import { defineEntity } from '@mikro-orm/core';
import { boolean, bytes, checks, index, integer, oneOf, reference, text, timestamp, uuid } from '#platform/db/columns.ts';

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
    /** Whether the wallets were compared with the chain. */
    checked: boolean().default(false),
  },
});
