import { defineEntity } from '@mikro-orm/core';
import { boolean, bytes, byteText, checks, index, oneOf, text, timestamp, wallet } from '#platform/db/columns.ts';

/** A row is the last reported follow or unfollow of an account that is or was linked. A follow that was credited without a row has not ended. */
export const FollowStatesTable = defineEntity({
  name: 'FollowStates',
  tableName: 'follow_states',
  properties: {
    platform: byteText().primary(),
    accountId: byteText().primary(),
    /** Whether the account follows the arcade's account. */
    following: boolean(),
    /** Time of the report. Reports arrive in any order; this time shows the newer one. */
    at: timestamp(),
  },
});

/**
 * A row is an engagement of an account that is not linked yet. When the account is linked, the row becomes an activity with the same kind and source
 * id.
 */
export const KeptEngagementsTable = defineEntity({
  name: 'KeptEngagements',
  tableName: 'kept_engagements',
  properties: {
    platform: byteText().primary(),
    accountId: byteText().primary(),
    kind: oneOf('follow', 'repost', 'mention').primary(),
    /** Id of the engagement, unique per kind. */
    sourceId: byteText().primary(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index kept_engagements_at on kept_engagements (at)')],
});

/** A row is an account link that a wallet has started. */
export const LinkAttemptsTable = defineEntity({
  name: 'LinkAttempts',
  tableName: 'link_attempts',
  properties: {
    /** SHA-256 of the OAuth state (method `oauth`) or of the challenge code (method `challenge`). */
    key: bytes().primary(),
    wallet: wallet(),
    platform: text(),
    method: oneOf('oauth', 'challenge'),
    /** The PKCE code verifier (method `oauth`), or the challenge code (method `challenge`). */
    secret: text(),
    expiresAt: timestamp(),
    usedAt: timestamp().nullable(),
  },
  indexes: [
    index('create index link_attempts_expires_at on link_attempts (expires_at)'),
    index('create index link_attempts_wallet on link_attempts (wallet)'),
  ],
});

/** A row links an external account to its wallet. A wallet has at most one account per platform. */
export const LinkedAccountsTable = defineEntity({
  name: 'LinkedAccounts',
  tableName: 'linked_accounts',
  properties: {
    platform: byteText().primary(),
    /** Id of the account on the platform, which never changes. */
    accountId: byteText().primary(),
    /** Name that the platform shows. Another account may take over the name. */
    handle: text(),
    wallet: wallet(),
    linkedAt: timestamp().defaultRaw('app_now()'),
    /** Last time at which the handle was known to belong to the account. Reports about a handle arrive in any order; this time shows the newer one. */
    confirmedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("account_id <> ''", "handle <> ''", "platform ~ '^[a-z0-9-]{1,32}$'"),
  uniques: [{ name: 'linked_accounts_wallet_platform_key', properties: ['wallet', 'platform'] }],
  indexes: [index('create index linked_accounts_handle on linked_accounts (platform, lower(handle))')],
});

/** A row is an account that is no longer linked. */
export const UnlinkedAccountsTable = defineEntity({
  name: 'UnlinkedAccounts',
  tableName: 'unlinked_accounts',
  properties: {
    platform: byteText().primary(),
    accountId: byteText().primary(),
    /** The wallet to which the account was linked last. */
    wallet: wallet(),
    unlinkedAt: timestamp(),
  },
  indexes: [
    index('create index unlinked_accounts_unlinked_at on unlinked_accounts (unlinked_at)'),
    index('create index unlinked_accounts_wallet on unlinked_accounts (wallet)'),
  ],
});

/** Tables of this area. */
export const socialTables = [FollowStatesTable, KeptEngagementsTable, LinkAttemptsTable, LinkedAccountsTable, UnlinkedAccountsTable] as const;
