import { sql } from 'kysely';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
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
 * @returns false when the text was deleted before; null when the message does not exist
 */
export async function eraseMessage(tx: Tx, id: string): Promise<boolean | null> {
  const erasure = build
    .updateTable('chat_messages')
    .set({ text: '', deleted_at: sql`app_now()` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null);
  if ((await run(tx, erasure.returning('id'))).length > 0) return true;
  return (await run(tx, build.selectFrom('chat_messages').select('id').where('id', '=', id))).length > 0 ? false : null;
}

const findBridged = statement<{ id: string }>('find_bridged_message', 'select id::text from chat_messages where source = $1 and source_id = $2');

/** Returns whether a message of a bridged chat is stored already. */
export async function isStored(db: Queryable, source: string, id: string): Promise<boolean> {
  return (await db.query(findBridged, [source, id])).length > 0;
}
