import { Migration } from '@mikro-orm/migrations';

/** Creates the tables for chat messages and sanctions. */
export class Migration0010Chat extends Migration {
  override up(): void {
    // Messages of the built-in chat (`source = 'chat'`) and of bridged chats (any other `source`). A deleted message keeps its row, but not its text.
    // Columns:
    //   `wallet`: in the built-in chat, the author; in a bridged chat, the wallet that is linked to the author's account, or null.
    //   `account`, `source_id`: in a bridged chat, the author's account and the id of the message in that chat.
    //   `idempotency_key`: may be set in the built-in chat only.
    //   `entry`: the id of the lottery entry that the message created; null when it created none.
    this.addSql(`
      create table chat_messages (
        seq bigint generated always as identity primary key,
        id uuid not null unique,
        source text collate "C" not null check (source ~ '^[a-z0-9-]{1,32}$' and source <> 'chain'),
        source_id text collate "C",
        account text collate "C",
        handle text,
        said_at timestamptz,
        wallet wallet,
        text text not null,
        entry uuid,
        idempotency_key text collate "C",
        text_hash bytea,
        at timestamptz(3) not null default app_now(),
        deleted_at timestamptz,
        check (case source when 'chat' then wallet is not null and num_nonnulls(source_id, account, handle, said_at) = 0
                           else num_nulls(source_id, account, handle, said_at) = 0 and idempotency_key is null end),
        check ((idempotency_key is null) = (text_hash is null)),
        check (entry is null or wallet is not null),
        check ((deleted_at is not null) = (text = ''))
      )`);
    this.addSql(`create unique index chat_messages_key on chat_messages (wallet, idempotency_key) where idempotency_key is not null`);
    this.addSql(`create unique index chat_messages_bridged on chat_messages (source, source_id) where source_id is not null`);
    this.addSql('create index chat_messages_at on chat_messages (at)');
    // Mutes and bans of chat accounts. When `muted_until` and `banned_at` are both null, the account may write again. `account` is a wallet if
    // `source = 'chat'`, otherwise an account of a bridged chat. A sanction of a wallet also applies to all accounts that are linked to the wallet.
    // `by` is the name of the admin token.
    this.addSql(`
      create table chat_sanctions (
        source text collate "C" not null check (source ~ '^[a-z0-9-]{1,32}$' and source <> 'chain'),
        account text collate "C" not null check (account <> ''),
        muted_until timestamptz(3),
        banned_at timestamptz(3),
        by text not null,
        changed_at timestamptz not null default app_now(),
        primary key (source, account)
      )`);
  }

  override down(): void {
    this.addSql('drop table chat_sanctions, chat_messages');
  }
}
