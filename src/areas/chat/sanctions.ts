import { sql } from 'kysely';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build, OWN_CHAT } from './messages.ts';

/** The author of a message: an account of a bridged chat, or a wallet in the service's own chat (`source = 'chat'`). */
export interface Author {
  readonly source: string;
  readonly account: string;
}
/** Returns the author for a wallet in the service's own chat. */
export const walletAuthor = (wallet: string): Author => ({ source: OWN_CHAT, account: wallet });

// A wallet that is banned from the arcade cannot sign in, but its linked accounts on other platforms could still write. So for a linked account the
// caller also passes the linked wallet as an author, and the select after `union all` finds the ban of this wallet.
const select = statement<Author & { until: string | null }>(
  'select_chat_sanctions',
  `with author as materialized (select distinct source, account from unnest($1::text[], $2::text[]) as a(source, account))
   select s.source, s.account, case when s.banned_at is null then ${instant('s.muted_until')} end as until
   from author a join chat_sanctions s on s.source = a.source and s.account = a.account
   where s.banned_at is not null or s.muted_until > (select app_now())
   union all
   select a.source, a.account, null from author a join players p on p.wallet = a.account where a.source = '${OWN_CHAT}' and p.banned_at is not null`,
);

/**
 * Reads the sanctions of authors.
 * @returns a function that returns the reason why an author may not write, in one sentence, or null when the author may write
 */
export async function readSanctions(db: Queryable, authors: readonly Author[]): Promise<(author: Author) => string | null> {
  const rows = await db.query(select, [authors.map(({ source }) => source), authors.map(({ account }) => account)]);
  const why = new Map(rows.map(({ source, account, until }) => [`${source} ${account}`, sentence(source, until)]));
  return ({ source, account }) => why.get(`${source} ${account}`) ?? null;
}

function sentence(source: string, until: string | null): string {
  const who = source === OWN_CHAT ? 'wallet' : 'account';
  return until === null ? `this ${who} is banned from chat` : `this ${who} is muted in chat until ${until}`;
}

const mute = statement<{ until: string }>(
  'mute_in_chat',
  `insert into chat_sanctions (source, account, by, muted_until, reason) values ($1, $2, $3, app_now() + make_interval(mins => $4), $5)
   on conflict (source, account) do update set by = excluded.by, changed_at = app_now(), muted_until = excluded.muted_until, reason = excluded.reason
   returning ${instant('muted_until')} as until`,
);
const ban = statement<Author>(
  'ban_from_chat',
  `insert into chat_sanctions (source, account, by, banned_at, reason) values ($1, $2, $3, app_now(), $4)
   on conflict (source, account) do update set by = excluded.by, changed_at = app_now(), banned_at = excluded.banned_at, reason = excluded.reason
   where chat_sanctions.banned_at is null returning source, account`,
);
const lift = (column: 'muted_until' | 'banned_at', { source, account }: Author, by: string) =>
  build
    .updateTable('chat_sanctions')
    .set({ by, changed_at: sql`app_now()` })
    .set(column, null)
    .where('source', '=', source)
    .where('account', '=', account)
    .where(column, 'is not', null)
    .returning('account');

/** Name of the admin token that decides, and the reason, which the author can read. */
export interface SanctionBy {
  readonly by: string;
  readonly reason: string | null;
}

/** Mutes an author from now on. A repeated mute replaces the earlier one. @returns the end of the mute, ISO 8601 in UTC */
export async function muteAuthor(tx: Tx, { source, account }: Author, minutes: number, { by, reason }: SanctionBy): Promise<string> {
  const [row] = await tx.query(mute, [source, account, by, minutes, reason]);
  if (!row) throw new Error('the mute returned no row');
  return row.until;
}

/** Unmutes, bans or unbans an author. @returns whether the author's state changed */
export async function sanction(tx: Tx, action: 'unmute' | 'ban' | 'unban', author: Author, { by, reason }: SanctionBy): Promise<boolean> {
  if (action === 'ban') return (await tx.query(ban, [author.source, author.account, by, reason])).length > 0;
  return (await run(tx, lift(action === 'unmute' ? 'muted_until' : 'banned_at', author, by))).length > 0;
}
