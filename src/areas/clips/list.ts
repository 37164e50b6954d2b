import { sql } from 'kysely';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { build, type Clip, clipColumns } from './rows.ts';
import type { OwnClip } from './schemas.ts';

/** Filter for a list of clips. */
interface ClipFilter {
  readonly gameId?: string | undefined;
  readonly wallet?: string | undefined;
}

/** Builds the selection of the visible clips that match a filter. */
function visibleClips({ gameId, wallet }: ClipFilter) {
  const visible = build.selectFrom('clips').where('state', '=', 'ready').where('hidden', '=', false);
  const ofWallet = wallet === undefined ? visible : visible.where('wallet', '=', wallet);
  return gameId === undefined ? ofWallet : ofWallet.where('game_id', '=', gameId);
}

/** Builds the query for the number of clips that match a filter. Only the clips of a wallet are counted; `clip_counts` has the other numbers. */
function countClips(filter: ClipFilter) {
  if (filter.wallet !== undefined) return visibleClips(filter).select(sql<number>`count(*)::int`.as('n'));
  const counts = build.selectFrom('clip_counts').select(sql<number>`coalesce(sum(n), 0)::int`.as('n'));
  return filter.gameId === undefined ? counts : counts.where('game_id', '=', filter.gameId);
}

/** Reads a page of visible clips, newest first, and the number of all clips that match the filter. */
export async function listClips(db: Queryable, filter: ClipFilter, limit: number, offset: number): Promise<{ clips: Clip[]; total: number }> {
  const page = visibleClips(filter).select(clipColumns).orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).offset(offset);
  const [clips, [count]] = await Promise.all([run(db, page), run(db, countClips(filter))]);
  return { clips, total: count?.n ?? 0 };
}

/** Reads a page of a wallet's clips, newest first, also of removed and hidden ones, and the number of all of them. */
export async function listOwnClips(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ clips: OwnClip[]; total: number }> {
  const own = build.selectFrom('clips').where('wallet', '=', wallet).where('state', 'in', ['ready', 'removing', 'removed']);
  const status = sql<OwnClip['status']>`case when state <> 'ready' then 'removed' when hidden then 'hidden' else 'visible' end`;
  const page = own
    .select(['id', 'game_id as gameId', 'title', 'type', 'bytes', isoInstant('created_at').as('createdAt'), status.as('status')])
    .select([isoInstant<string | null>('removed_at').as('removedAt'), 'removed_reason as removedReason'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
  const [clips, [count]] = await Promise.all([run(db, page.limit(limit).offset(offset)), run(db, own.select(sql<number>`count(*)::int`.as('n')))]);
  return { clips, total: count?.n ?? 0 };
}
