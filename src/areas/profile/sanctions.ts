import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** A ban or a mute of a wallet. */
interface Sanction {
  type: 'ban' | 'chat-ban' | 'chat-mute';
  since: string;
  /** End of a mute; null without an end. */
  until: string | null;
  reason: string | null;
}

const select = statement<Sanction>(
  'select_sanctions_of_wallet',
  `select 'ban' as type, ${instant('banned_at')} as since, null as until, ban_reason as reason from players where wallet = $1 and banned_at is not null
   union all
   select case when banned_at is null then 'chat-mute' else 'chat-ban' end, ${instant('coalesce(banned_at, changed_at)')},
     case when banned_at is null then ${instant('muted_until')} end, reason
   from chat_sanctions where source = 'chat' and account = $1 and (banned_at is not null or muted_until > (select app_now()))`,
);

/** Reads the sanctions of a wallet that are in force. */
export async function readSanctions(db: Queryable, wallet: string): Promise<Sanction[]> {
  return await db.query(select, [wallet]);
}
