import { instant, type Queryable, statement } from '#platform/db/sql.ts';

export const BATTLE_STATES = ['open', 'running', 'finished', 'expired'] as const;

/** A wallet's seat in a battle. */
interface Seat {
  readonly wallet: string;
  /** Number of the seat in the order of joining, from 1 on. */
  readonly seat: number;
  readonly joinedAt: string;
  /** Best normalized score that counts for the battle; null without such a score. */
  readonly score: number | null;
  /** Number of scores that count for the battle. */
  readonly scores: number;
  /** Place in the result. Null until the battle is finished, and for a seat without a score. */
  readonly place: number | null;
}

/** A stored battle with its seats. */
export interface Battle {
  readonly id: string;
  readonly gameId: string;
  readonly createdBy: string;
  readonly maxPlayers: number;
  readonly durationSec: number;
  readonly status: (typeof BATTLE_STATES)[number];
  readonly createdAt: string;
  /** Time at which an open battle expires, or at which a started battle ends. */
  readonly dueAt: string;
  /** Whether `dueAt` has passed. */
  readonly due: boolean;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly participants: readonly Seat[];
}

const COLUMNS = `b.id, b.game_id as "gameId", b.created_by as "createdBy", b.max_players as "maxPlayers", b.duration_sec as "durationSec", b.state as status,
  ${instant('b.created_at')} as "createdAt", ${instant('b.due_at')} as "dueAt", b.due_at <= (select app_now()) as due,
  ${instant('b.started_at')} as "startedAt", ${instant('b.ended_at')} as "endedAt",
  (select json_agg(json_build_object('wallet', s.wallet, 'seat', s.seat, 'joinedAt', ${instant('s.joined_at')}, 'score', s.best, 'scores', s.scores, 'place', s.place)
     order by s.seat) from battle_seats s where s.battle_id = b.id) as participants`;
const ACTIVE = `state in ('open', 'running')`;

const selectBattle = statement<Battle>('select_battle', `select ${COLUMNS} from battles b where b.id = $1`);

/** Reads a battle; undefined when it does not exist. */
export async function readBattle(db: Queryable, id: string): Promise<Battle | undefined> {
  return (await db.query(selectBattle, [id]))[0];
}

const page = (where: string) => `select ${COLUMNS} from (
  select * from battles where ${where} order by created_at desc, id desc limit $1 offset $2) b order by b.created_at desc, b.id desc`;
const selectActive = statement<Battle>('select_active_battles', page(ACTIVE));
const selectActiveOfGame = statement<Battle>('select_active_battles_of_game', page(`${ACTIVE} and game_id = $3`));
const countActive = statement<{ total: number }>('count_active_battles', `select count(*)::int as total from battles where ${ACTIVE}`);
const countActiveOfGame = statement<{ total: number }>(
  'count_active_battles_of_game',
  `select count(*)::int as total from battles where ${ACTIVE} and game_id = $1`,
);

/**
 * Reads a page of the open and running battles, newest first, and the number of all of them.
 * @param gameId only battles of this game; undefined = all games
 */
export async function listActive(
  db: Queryable,
  gameId: string | undefined,
  limit: number,
  offset: number,
): Promise<{ battles: Battle[]; total: number }> {
  const [battles, [count]] = await Promise.all(
    gameId === undefined
      ? [db.query(selectActive, [limit, offset]), db.query(countActive)]
      : [db.query(selectActiveOfGame, [limit, offset, gameId]), db.query(countActiveOfGame, [gameId])],
  );
  return { battles, total: count?.total ?? 0 };
}

export const countOwn = statement<{ n: number }>(
  'count_active_battles_of_wallet',
  `select count(*)::int as n from battles where created_by = $1 and ${ACTIVE}`,
);
