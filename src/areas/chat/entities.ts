import { defineEntity } from '@mikro-orm/core';
import { bytes, byteText, checks, identity, index, text, timestamp, uuid, wallet } from '#platform/db/columns.ts';

/**
 * A row is a message of the service's own chat (`source` is `chat`) or of a bridged chat (`source` names the platform). A deleted message keeps its
 * row, but not its text.
 */
export const ChatMessagesTable = defineEntity({
  name: 'ChatMessages',
  tableName: 'chat_messages',
  properties: {
    /** Order in which the service accepted the messages. */
    seq: identity().primary(),
    id: uuid(),
    source: byteText(),
    /** Id of the message in its bridged chat; null in the own chat. */
    sourceId: byteText().nullable(),
    /** Account of the author in the bridged chat; null in the own chat. */
    account: byteText().nullable(),
    /** The author's name in the bridged chat; null in the own chat. */
    handle: text().nullable(),
    /** Time of the message in the bridged chat; null in the own chat. */
    saidAt: timestamp().nullable(),
    /** The author; in a bridged chat the wallet that is linked to the author's account, or null. */
    wallet: wallet().nullable(),
    text: text(),
    /** Id of the lottery entry that the message made; null when it made none. */
    entry: uuid().nullable(),
    /** The Idempotency-Key of the request; always null in a bridged chat. */
    idempotencyKey: byteText().nullable(),
    /** SHA-256 of the text of a message with an idempotency key, so that a repeated request can be compared. */
    textHash: bytes().nullable(),
    at: timestamp(3).defaultRaw('app_now()'),
    deletedAt: timestamp().nullable(),
    /** Why a moderator deleted the text, for its author; null without a reason. */
    deletedReason: text().nullable(),
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
    index('create index chat_messages_without_entry on chat_messages (at) where entry is null'),
    index('create unique index chat_messages_bridged on chat_messages (source, source_id) where source_id is not null'),
    index('create unique index chat_messages_key on chat_messages (wallet, idempotency_key) where idempotency_key is not null'),
    index('create index chat_messages_wallet on chat_messages (wallet, seq desc) where wallet is not null'),
  ],
});

/** A row is the mute and the ban of an author. An author whose mute and ban were lifted keeps the row. */
export const ChatSanctionsTable = defineEntity({
  name: 'ChatSanctions',
  tableName: 'chat_sanctions',
  properties: {
    source: byteText().primary(),
    /** A wallet when `source` is `chat`; otherwise an account of the bridged chat. A sanction of a wallet also applies to its linked accounts. */
    account: byteText().primary(),
    /** End of the mute; null when the author is not muted. */
    mutedUntil: timestamp(3).nullable(),
    /** Time of the ban; null when the author is not banned. */
    bannedAt: timestamp(3).nullable(),
    /** Name of the admin token of the last change. */
    by: text(),
    changedAt: timestamp().defaultRaw('app_now()'),
    /** Reason of the last change, for the author; null without a reason. */
    reason: text().nullable(),
  },
  checks: checks("account <> ''", "(source ~ '^[a-z0-9-]{1,32}$') and source <> 'chain'"),
});

/** Tables of this area. */
export const chatTables = [ChatMessagesTable, ChatSanctionsTable] as const;
