import { defineEntity } from '@mikro-orm/core';
import { PlayersTable } from '#areas/points';
import { byteText, checks, index, oneOf, reference, text, timestamp, trigger, uuid } from '#platform/db/columns.ts';

/** What can be erased. */
export const ERASURE_KINDS = ['record', 'state', 'clip', 'chat', 'name'] as const;
export type ErasureKind = (typeof ERASURE_KINDS)[number];

/** A row says who erased which content, and why. */
export const ErasuresTable = defineEntity({
  name: 'Erasures',
  tableName: 'erasures',
  properties: {
    id: uuid().primary(),
    kind: oneOf(...ERASURE_KINDS),
    /** The id that the request named: of a record, clip or message, `<wallet>/<game>` of a state, or a wallet for its names. */
    subject: byteText(),
    reason: text(),
    /** Name of the admin token. */
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("reason <> ''"),
  indexes: [index('create index erasures_newest on erasures (at desc, id desc)')],
  triggers: [
    trigger(
      'create trigger erasures_append_only before delete or update or truncate on erasures for each statement execute function refuse_change()',
    ),
  ],
});

/** A row is the last request of a wallet to delete its account. */
export const AccountDeletionsTable = defineEntity({
  name: 'AccountDeletions',
  tableName: 'account_deletions',
  properties: {
    wallet: reference(PlayersTable, 'wallet').primary(),
    /** The deletion concerns only rows that are not newer than this time. */
    requestedAt: timestamp(),
    /** Null while the job has not deleted everything. */
    completedAt: timestamp().nullable(),
  },
  indexes: [index('create index account_deletions_open on account_deletions (requested_at) where completed_at is null')],
});

/** Tables of this area. */
export const privacyTables = [ErasuresTable, AccountDeletionsTable] as const;
