import { defineEntity } from '@mikro-orm/core';
import { bytes, byteText, checks, index, oneOf, text, timestamp, wallet } from '#platform/db/columns.ts';

export const KeptEngagementsTable = defineEntity({
  name: 'KeptEngagements',
  tableName: 'kept_engagements',
  properties: {
    platform: byteText().primary(),
    accountId: byteText().primary(),
    kind: oneOf('follow', 'repost', 'mention').primary(),
    sourceId: byteText().primary(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index kept_engagements_at on kept_engagements (at)')],
});

export const LinkAttemptsTable = defineEntity({
  name: 'LinkAttempts',
  tableName: 'link_attempts',
  properties: {
    key: bytes().primary(),
    wallet: wallet(),
    platform: text(),
    method: oneOf('oauth', 'challenge'),
    secret: text(),
    expiresAt: timestamp(),
    usedAt: timestamp().nullable(),
  },
  indexes: [
    index('create index link_attempts_expires_at on link_attempts (expires_at)'),
    index('create index link_attempts_wallet on link_attempts (wallet)'),
  ],
});

export const LinkedAccountsTable = defineEntity({
  name: 'LinkedAccounts',
  tableName: 'linked_accounts',
  properties: {
    platform: byteText().primary(),
    accountId: byteText().primary(),
    handle: text(),
    wallet: wallet(),
    linkedAt: timestamp().defaultRaw('app_now()'),
    confirmedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("account_id <> ''", "handle <> ''", "platform ~ '^[a-z0-9-]{1,32}$'"),
  uniques: [{ name: 'linked_accounts_wallet_platform_key', properties: ['wallet', 'platform'] }],
  indexes: [index('create index linked_accounts_handle on linked_accounts (platform, lower(handle))')],
});

export const UnlinkedAccountsTable = defineEntity({
  name: 'UnlinkedAccounts',
  tableName: 'unlinked_accounts',
  properties: {
    platform: byteText().primary(),
    accountId: byteText().primary(),
    wallet: wallet(),
    unlinkedAt: timestamp(),
  },
  indexes: [index('create index unlinked_accounts_unlinked_at on unlinked_accounts (unlinked_at)')],
});

/** Tables of this area. */
export const socialTables = [KeptEngagementsTable, LinkAttemptsTable, LinkedAccountsTable, UnlinkedAccountsTable] as const;
