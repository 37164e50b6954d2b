import { type Queryable, type Statement, statement } from '#platform/db/sql.ts';
import { CLIP_COLUMNS, type Clip } from './rows.ts';

/** Filter for a list of clips. */
interface ClipFilter {
  readonly gameId?: string | undefined;
  readonly wallet?: string | undefined;
}

/** SQL statements for one combination of filters. Each combination has its own statements, so that it can use its own index. */
interface ListStatements {
  readonly page: Statement<Clip>;
  readonly count: Statement<{ n: number }>;
}

const VISIBLE = `state = 'ready' and not hidden`;
function listStatements(name: string, filter: readonly string[], count?: string): ListStatements {
  const where = [...filter.map((column, i) => `${column} = $${i + 1}`), VISIBLE].join(' and ');
  const page = `select ${CLIP_COLUMNS} from clips where ${where} order by clips.created_at desc, id desc`;
  return {
    page: statement(`list_clips_${name}`, `${page} limit $${filter.length + 1} offset $${filter.length + 2}`),
    count: statement(`count_clips_${name}`, count ?? `select count(*)::int as n from clips where ${where}`),
  };
}

const ALL = listStatements('all', [], 'select coalesce(sum(n), 0)::int as n from clip_counts');
const OF_GAME = listStatements('of_game', ['game_id'], 'select n from clip_counts where game_id = $1');
const OF_WALLET = listStatements('of_wallet', ['wallet']);
const OF_WALLET_AND_GAME = listStatements('of_wallet_and_game', ['wallet', 'game_id']);

/** Reads a page of visible clips, newest first, and the number of all clips that match the filter. */
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
