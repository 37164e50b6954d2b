import { defineEntity } from '@mikro-orm/core';
import { checks, index, text, timestamp, wallet } from '#platform/db/columns.ts';

/** A row is the name that a wallet chose to be shown with. */
export const WalletNamesTable = defineEntity({
  name: 'WalletNames',
  tableName: 'wallet_names',
  properties: {
    wallet: wallet().primary(),
    /** A `.sol` name in lower case. */
    name: text(),
    /** Last time at which the name resolved to the wallet. */
    checkedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("name <> ''"),
  indexes: [index('create index wallet_names_checked_at on wallet_names (checked_at)')],
});

/** Tables of this area. */
export const walletsTables = [WalletNamesTable] as const;
