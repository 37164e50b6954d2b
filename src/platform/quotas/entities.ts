import { defineEntity } from '@mikro-orm/core';
import { bigint, byteText, smallint, trigger, wallet } from '#platform/db/columns.ts';
import type { StoredKind } from './config.ts';

/**
 * A row is the storage that a wallet uses for one kind of content. Triggers of the tables `clips`, `game_records` and `game_states` keep it up to date,
 * in the transaction that stores or deletes the content.
 */
export const StorageUsageTable = defineEntity({
  name: 'StorageUsage',
  tableName: 'storage_usage',
  properties: {
    wallet: wallet().primary(),
    kind: byteText().$type<StoredKind>().primary(),
    bytes: bigint(),
  },
});

/** A row is a part of the storage that all wallets use for one kind of content. The total of a kind is the sum of its shards. */
export const StorageTotalsTable = defineEntity({
  name: 'StorageTotals',
  tableName: 'storage_totals',
  properties: {
    kind: byteText().$type<StoredKind>().primary(),
    shard: smallint().primary(),
    bytes: bigint(),
  },
});

/** Returns the triggers that count the content of a table. */
export const storageTriggers = (table: 'clips' | 'game_records' | 'game_states') =>
  Object.entries({
    insert: 'new table as new_rows',
    update: 'old table as old_rows new table as new_rows',
    delete: 'old table as old_rows',
  }).map(([event, rows]) =>
    trigger(
      `create trigger ${table}_storage_${event} after ${event} on ${table} referencing ${rows} for each statement execute function count_storage_of_${table}()`,
    ),
  );
