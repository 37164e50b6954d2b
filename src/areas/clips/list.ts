import { type Queryable, type Statement, statement } from '#platform/db/sql.ts';
import { CLIP_COLUMNS, type Clip } from './rows.ts';

/** Which clips are asked for. */
export interface ClipFilter {
  readonly gameId?: string | undefined;
  readonly wallet?: string | undefined;
}

/** What a filter asks: each has its index. */
interface Listing {
  readonly page: Statement<Clip>;
  readonly count: Statement<{ n: number }>;
}

const SHOWN = `state = 'ready' and not hidden`;
function listing(name: string, filter: readonly string[], count?: string): Listing {
  const where = [...filter.map((column, i) => `${column} = $${i + 1}`), SHOWN].join(' and ');
  const page = `select ${CLIP_COLUMNS} from clips where ${where} order by clips.created_at desc, id desc`;
  return {
    page: statement(`list_clips_${name}`, `${page} limit $${filter.length + 1} offset $${filter.length + 2}`),
    count: statement(`count_clips_${name}`, count ?? `select count(*)::int as n from clips where ${where}`),
  };
}

const ALL = listing('all', [], 'select coalesce(sum(n), 0)::int as n from clip_counts');
const OF_GAME = listing('of_game', ['game_id'], 'select n from clip_counts where game_id = $1');
const OF_WALLET = listing('of_wallet', ['wallet']);
const OF_WALLET_AND_GAME = listing('of_wallet_and_game', ['wallet', 'game_id']);

/** Clips newest first, and how many there are. */
export async function listClips(
  db: Queryable,
  { gameId, wallet }: ClipFilter,
  limit: number,
  offset: number,
): Promise<{ clips: Clip[]; total: number }> {
  const filter = [wallet, gameId].filter((value) => value !== undefined);
  const ofWallet = gameId === undefined ? OF_WALLET : OF_WALLET_AND_GAME;
  const ofAll = gameId === undefined ? ALL : OF_GAME;
  const { page, count } = wallet === undefined ? ofAll : ofWallet;
  const [clips, counted] = await Promise.all([db.query(page, [...filter, limit, offset]), db.query(count, filter)]);
  return { clips, total: counted[0]?.n ?? 0 };
}
