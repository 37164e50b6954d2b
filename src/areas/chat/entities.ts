import { defineEntity } from '@mikro-orm/core';
import { bytes, byteText, checks, identity, index, text, timestamp, uuid, wallet } from '#platform/db/columns.ts';

export const ChatMessagesTable = defineEntity({
  name: 'ChatMessages',
  tableName: 'chat_messages',
  properties: {
    seq: identity().primary(),
    id: uuid(),
    source: byteText(),
    sourceId: byteText().nullable(),
    account: byteText().nullable(),
    handle: text().nullable(),
    saidAt: timestamp().nullable(),
    wallet: wallet().nullable(),
    text: text(),
    entry: uuid().nullable(),
    idempotencyKey: byteText().nullable(),
    textHash: bytes().nullable(),
    at: timestamp(3).defaultRaw('app_now()'),
    deletedAt: timestamp().nullable(),
  },
  checks: checks(
    "case source when 'chat' then ((wallet is not null) and (num_nonnulls(source_id, account, handle, said_at) = 0)) else ((num_nulls(source_id, account, handle, said_at) = 0) and (idempotency_key is null)) end",
    '(idempotency_key is null) = (text_hash is null)',
    'entry is null or wallet is not null',
    "(deleted_at is not null) = (text = '')",
    "(source ~ '^[a-z0-9-]{1,32}$') and source <> 'chain'",
  ),
  uniques: [{ name: 'chat_messages_id_key', properties: ['id'] }],
  indexes: [
    index('create index chat_messages_at on chat_messages (at)'),
    index('create unique index chat_messages_bridged on chat_messages (source, source_id) where source_id is not null'),
    index('create unique index chat_messages_key on chat_messages (wallet, idempotency_key) where idempotency_key is not null'),
  ],
});

export const ChatSanctionsTable = defineEntity({
  name: 'ChatSanctions',
  tableName: 'chat_sanctions',
  properties: {
    source: byteText().primary(),
    account: byteText().primary(),
    mutedUntil: timestamp(3).nullable(),
    bannedAt: timestamp(3).nullable(),
    by: text(),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("account <> ''", "(source ~ '^[a-z0-9-]{1,32}$') and source <> 'chain'"),
});

/** Tables of this area. */
export const chatTables = [ChatMessagesTable, ChatSanctionsTable] as const;
