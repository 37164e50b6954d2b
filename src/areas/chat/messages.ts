import { sql } from 'kysely';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { chatTables } from './entities.ts';
import { chatMessage } from './events.ts';

/** Builds queries of the tables of this area. */
export const build = queryBuilder(chatTables);

/** Value of `source` for messages and entries from the service's own chat. */
export const OWN_CHAT = 'chat';

/** The idempotency key of a message, with the hash of its text. */
export interface MessageKey {
  readonly name: string;
  readonly textHash: Buffer;
}

/** A message to store. */
interface NewMessage {
  readonly id: string;
  readonly source: string;
  readonly wallet: string | null;
  readonly text: string;
  /** Id of the entry that the message made; null when the message made no entry. */
  readonly entry: string | null;
  readonly key?: MessageKey | null;
  /** Id, author and time of the message in its bridged chat. Missing for a message of the service's own chat. */
  readonly bridged?: { readonly id: string; readonly account: string; readonly handle: string; readonly at: string };
}

// `order by n` inserts the messages in the given order, so that `seq` increases in the order in which the messages were accepted.
const insert = statement(
  'insert_chat_messages',
  `insert into chat_messages (id, source, source_id, account, handle, said_at, wallet, text, entry, idempotency_key, text_hash)
   select id, source, source_id, account, handle, said_at, wallet, text, entry, key, text_hash
   from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::uuid[], $10::text[], $11::bytea[])
     with ordinality as m(id, source, source_id, account, handle, said_at, wallet, text, entry, key, text_hash, n)
   order by n`,
);

/** Stores messages in their order and emits an event for each. */
export async function storeMessages(tx: Tx, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const column = <Value>(value: (message: NewMessage) => Value) => messages.map(value);
  const stored = tx.query(insert, [
    column((m) => m.id),
    column((m) => m.source),
    column((m) => m.bridged?.id ?? null),
    column((m) => m.bridged?.account ?? null),
    column((m) => m.bridged?.handle ?? null),
    column((m) => m.bridged?.at ?? null),
    column((m) => m.wallet),
    column((m) => m.text),
    column((m) => m.entry),
    column((m) => m.key?.name ?? null),
    column((m) => m.key?.textHash ?? null),
  ]);
  tx.emitAll(
    chatMessage,
    messages.map(({ id, source, wallet, bridged, text, entry }) => ({
      ...{ messageId: id, source, wallet, text },
      ...{ handle: bridged?.handle ?? null, entryId: entry },
    })),
  );
  await stored;
}

/** A message as returned in a page of messages. */
interface ShownMessage {
  messageId: string;
  source: string;
  wallet: string | null;
  handle: string | null;
  text: string;
  entryId: string | null;
  /** Time of the message, ISO 8601 in UTC. */
  at: string;
}
// Without `before` the page begins at the newest message. An unknown `before` gives an empty page.
const selectShown = statement<ShownMessage>(
  'select_shown_chat_messages',
  `select id::text as "messageId", source, wallet, handle, text, entry::text as "entryId",
     ${instant('at')} as at
   from chat_messages
   where deleted_at is null
     and seq < case when $1::uuid is null then 9223372036854775807 else (select seq from chat_messages where id = $1) end
   order by seq desc limit $2`,
);

/**
 * Reads messages that are not deleted, newest first.
 * @param before message id; only messages older than this message are returned. Null begins at the newest message
 */
export async function listMessages(db: Queryable, before: string | null, limit: number): Promise<ShownMessage[]> {
  return await db.query(selectShown, [before, limit]);
}

/**
 * Deletes a message's text.
 * @param reason why, for the author of the message
 * @returns false when the text was deleted before; null when the message does not exist
 */
export async function eraseMessage(tx: Tx, id: string, reason: string | null): Promise<boolean | null> {
  const erasure = build
    .updateTable('chat_messages')
    .set({ text: '', deleted_at: sql`app_now()`, deleted_reason: reason })
    .where('id', '=', id)
    .where('deleted_at', 'is', null);
  if ((await run(tx, erasure.returning('id'))).length > 0) return true;
  return (await run(tx, build.selectFrom('chat_messages').select('id').where('id', '=', id))).length > 0 ? false : null;
}

/** A message as its author sees it. */
interface OwnMessage extends Omit<ShownMessage, 'wallet' | 'handle' | 'text'> {
  text: string | null;
  deletedAt: string | null;
  deletedReason: string | null;
}

/** Reads a page of a wallet's messages, newest first, also of those whose text was deleted, and the number of all of them. */
export async function listOwnMessages(
  db: Queryable,
  wallet: string,
  limit: number,
  offset: number,
): Promise<{ messages: OwnMessage[]; total: number }> {
  const own = build.selectFrom('chat_messages').where('wallet', '=', wallet);
  const page = own
    .select(['id as messageId', 'source', sql<string | null>`nullif(text, '')`.as('text'), 'entry as entryId', isoInstant('at').as('at')])
    .select([isoInstant<string | null>('deleted_at').as('deletedAt'), 'deleted_reason as deletedReason'])
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset);
  const [messages, [count]] = await Promise.all([run(db, page), run(db, own.select(sql<number>`count(*)::int`.as('n')))]);
  return { messages, total: count?.n ?? 0 };
}

/**
 * Removes from a message what its author wrote: the text, the handle of a bridged chat, and the hash of the text, which would confirm a guess of the text. The
 * hash of the empty text, which no message has, takes its place, so that a repeated request does not post the text again.
 */
const forgetContent = () =>
  build.updateTable('chat_messages').set({
    text: '',
    deleted_at: sql`coalesce(deleted_at, app_now())`,
    handle: sql`case when handle is not null then '-' end`,
    text_hash: sql`case when text_hash is not null then sha256('') end`,
  });

/** Removes the text, its hash and the handle of the author from a message, also if a moderator deleted the text before. @returns whether the message exists */
export async function forgetMessage(tx: Tx, id: string): Promise<boolean> {
  return (await run(tx, forgetContent().where('id', '=', id).returning('id'))).length > 0;
}

/**
 * Removes the same content from up to `limit` messages of a wallet, in all chats, that are not newer than `until`, also from messages whose text a
 * moderator deleted.
 * @returns the ids of these messages; empty when nothing is left
 */
export async function forgetMessagesOf(tx: Tx, wallet: string, until: string, limit: number): Promise<string[]> {
  const old = build.selectFrom('chat_messages').select('id').where('wallet', '=', wallet).where('at', '<=', until);
  const unforgotten = sql<boolean>`(deleted_at is null or handle <> '-' or text_hash <> sha256(''))`;
  return (await run(tx, forgetContent().where('id', 'in', old.where(unforgotten).limit(limit)).returning('id'))).map(({ id }) => id);
}

const findBridged = statement<{ id: string }>('find_bridged_message', 'select id::text from chat_messages where source = $1 and source_id = $2');

/** Returns whether a message of a bridged chat is stored already. */
export async function isStored(db: Queryable, source: string, id: string): Promise<boolean> {
  return (await db.query(findBridged, [source, id])).length > 0;
}
