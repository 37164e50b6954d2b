import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { OWN } from './messages.ts';

/** Who writes: an account of a bridged chat; in our own (`chat`), a wallet. */
export interface Author {
  readonly source: string;
  readonly account: string;
}
/** In our own chat. */
export const walletAuthor = (wallet: string): Author => ({ source: OWN, account: wallet });

// Wallets that are banned from the whole arcade cannot sign in; their accounts elsewhere still write.
const select = statement<Author & { until: string | null }>(
  'select_chat_sanctions',
  `with author as materialized (select distinct source, account from unnest($1::text[], $2::text[]) as a(source, account))
   select s.source, s.account, case when s.banned_at is null then ${instant('s.muted_until')} end as until
   from author a join chat_sanctions s on s.source = a.source and s.account = a.account
   where s.banned_at is not null or s.muted_until > app_now()
   union all
   select a.source, a.account, null from author a join players p on p.wallet = a.account where a.source = '${OWN}' and p.banned_at is not null`,
);

/** Reads which of some authors may not write now. @returns for an author, why not in one sentence; null for one who may */
export async function readSanctions(db: Queryable, authors: readonly Author[]): Promise<(author: Author) => string | null> {
  const rows = await db.query(select, [authors.map(({ source }) => source), authors.map(({ account }) => account)]);
  const why = new Map(rows.map(({ source, account, until }) => [`${source} ${account}`, sentence(source, until)]));
  return ({ source, account }) => why.get(`${source} ${account}`) ?? null;
}

function sentence(source: string, until: string | null): string {
  const who = source === OWN ? 'wallet' : 'account';
  return until === null ? `this ${who} is banned from chat` : `this ${who} is muted in chat until ${until}`;
}

const mute = statement<{ until: string }>(
  'mute_in_chat',
  `insert into chat_sanctions (source, account, by, muted_until) values ($1, $2, $3, app_now() + make_interval(mins => $4))
   on conflict (source, account) do update set by = excluded.by, changed_at = app_now(), muted_until = excluded.muted_until
   returning ${instant('muted_until')} as until`,
);
const unmute = statement<Author>(
  'unmute_in_chat',
  `update chat_sanctions set by = $3, changed_at = app_now(), muted_until = null
   where source = $1 and account = $2 and muted_until is not null returning source, account`,
);
const ban = statement<Author>(
  'ban_from_chat',
  `insert into chat_sanctions (source, account, by, banned_at) values ($1, $2, $3, app_now())
   on conflict (source, account) do update set by = excluded.by, changed_at = app_now(), banned_at = excluded.banned_at
   where chat_sanctions.banned_at is null returning source, account`,
);
const unban = statement<Author>(
  'unban_from_chat',
  `update chat_sanctions set by = $3, changed_at = app_now(), banned_at = null
   where source = $1 and account = $2 and banned_at is not null returning source, account`,
);

/** Mutes from now on; again, the newer one counts. @returns until when, ISO 8601 in UTC */
export async function muteAuthor(tx: Tx, { source, account }: Author, minutes: number, by: string): Promise<string> {
  const [row] = await tx.query(mute, [source, account, by, minutes]);
  if (!row) throw new Error('a mute left no row');
  return row.until;
}

/** @returns whether that changed anything */
export async function sanction(tx: Tx, action: 'unmute' | 'ban' | 'unban', { source, account }: Author, by: string): Promise<boolean> {
  return (await tx.query({ unmute, ban, unban }[action], [source, account, by])).length > 0;
}
