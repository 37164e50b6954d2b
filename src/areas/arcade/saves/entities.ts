import { defineEntity } from '@mikro-orm/core';
import { bytes, checks, index, integer, jsonb, reference, text, timestamp, trigger, uuid, wallet } from '#platform/db/columns.ts';
import { storageTriggers } from '#platform/quotas/entities.ts';
import { GamesTable } from '../entities.ts';

/** A row is a record in the hash chain of a wallet and a game. */
export const GameRecordsTable = defineEntity({
  name: 'GameRecords',
  tableName: 'game_records',
  properties: {
    wallet: wallet().primary(),
    gameId: reference(GamesTable, 'game_id').primary(),
    sequence: integer().primary(),
    id: uuid(),
    /** Null when the record is erased. */
    salt: bytes().nullable(),
    /** Null when the record is erased. */
    record: jsonb().nullable(),
    contentHash: bytes(),
    previousHash: bytes(),
    hash: bytes(),
    at: timestamp(),
  },
  checks: checks('sequence > 0', 'octet_length(salt) = 32', '(salt is null) = (record is null)'),
  indexes: [
    index('create unique index game_records_id on game_records (id)'),
    // `id` is not the primary key of game_records, so game_record_erasures cannot declare this key with `reference`.
    { name: 'game_record_erasures_record', expression: 'alter table game_record_erasures add foreign key (record_id) references game_records (id)' },
  ],
  triggers: [
    trigger('create trigger game_records_guarded before update on game_records for each row execute function guard_game_record()'),
    trigger('create trigger game_records_kept before delete on game_records for each row execute function refuse_change()'),
    trigger('create trigger game_records_no_truncate before truncate on game_records for each statement execute function refuse_change()'),
    ...storageTriggers('game_records'),
  ],
});

/** A row says who erased the content of a game record, and why. The SQL function `erase_game_record` inserts it. */
export const GameRecordErasuresTable = defineEntity({
  name: 'GameRecordErasures',
  tableName: 'game_record_erasures',
  properties: {
    recordId: uuid().primary(),
    erasedBy: text(),
    reason: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("erased_by <> ''", "reason <> ''"),
  triggers: [
    trigger(
      'create trigger game_record_erasures_append_only before delete or update or truncate on game_record_erasures for each statement execute function refuse_change()',
    ),
  ],
});

/** A row is the state that a game saved for a wallet. */
export const GameStatesTable = defineEntity({
  name: 'GameStates',
  tableName: 'game_states',
  properties: {
    wallet: wallet().primary(),
    gameId: reference(GamesTable, 'game_id').primary(),
    /** JSON text, exactly as the client sent it. */
    state: text(),
    /** Number of saves, from 1 on. */
    version: integer(),
    updatedAt: timestamp().defaultRaw('app_now()'),
  },
  triggers: storageTriggers('game_states'),
});

/** Tables of records and saved states. */
export const saveTables = [GameRecordsTable, GameRecordErasuresTable, GameStatesTable] as const;
