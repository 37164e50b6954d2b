import { defineEntity } from '@mikro-orm/core';
import { PlayersTable } from '#areas/points';
import { index, reference, text, timestamp, uuid } from '#platform/db/columns.ts';

/** A row is a notification that an operator sent. */
export const NotificationsTable = defineEntity({
  name: 'Notifications',
  tableName: 'notifications',
  properties: {
    id: uuid().primary(),
    /** Null for a notification to everybody. */
    wallet: reference(PlayersTable, 'wallet').nullable(),
    title: text(),
    text: text(),
    link: text().nullable(),
    /** Name of the admin token. */
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index notifications_wallet on notifications (wallet) where wallet is not null')],
});

/** A row is a note of an operator about a wallet. */
export const WalletNotesTable = defineEntity({
  name: 'WalletNotes',
  tableName: 'wallet_notes',
  properties: {
    id: uuid().primary(),
    wallet: reference(PlayersTable, 'wallet'),
    text: text(),
    /** Name of the admin token. */
    by: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  indexes: [index('create index wallet_notes_wallet on wallet_notes (wallet, id desc)')],
});

/** Tables of this area. */
export const adminTables = [NotificationsTable, WalletNotesTable] as const;
