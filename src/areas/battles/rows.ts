import { instant, type Queryable, statement } from '#platform/db/sql.ts';

export const BATTLE_STATES = ['open', 'running', 'finished', 'expired'] as const;

/** A wallet's seat. */
export interface Seat {
  readonly wallet: string;
  /** In the order of joining, from 1. */
  readonly seat: number;
  readonly joinedAt: string;
  /** Its best normalized score that counts; null for none. */
  readonly score: number | null;
  readonly scores: number;
  /** Null until the result is there, and for who did not score. */
  readonly place: number | null;
}

/** A battle as it is stored, with its seats. */
export interface Battle {
  readonly id: string;
  readonly gameId: string;
  readonly createdBy: string;
  readonly maxPlayers: number;
  readonly durationSec: number;
  readonly status: (typeof BATTLE_STATES)[number];
  readonly createdAt: string;
  /** When an open one expires, when one that was started ends. */
  readonly dueAt: string;
  /** Whether that has passed. */
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

/** One battle; undefined where there is none of that id. */
export async function readBattle(db: Queryable, id: string): Promise<Battle | undefined> {
  return (await db.query(selectBattle, [id]))[0];
}

const page = (where: string) => `select ${COLUMNS} from (
  select * from battles where ${where} order by created_at desc, id desc limit $1 offset $2) b order by b.created_at desc, b.id desc`;
export const selectActive = statement<Battle>('select_active_battles', page(ACTIVE));
export const selectActiveOfGame = statement<Battle>('select_active_battles_of_game', page(`${ACTIVE} and game_id = $3`));
export const countActive = statement<{ total: number }>('count_active_battles', `select count(*)::int as total from battles where ${ACTIVE}`);
export const countActiveOfGame = statement<{ total: number }>(
  'count_active_battles_of_game',
  `select count(*)::int as total from battles where ${ACTIVE} and game_id = $1`,
);

/** Battles that can be joined or are in progress, newest first, and how many there are. @param gameId undefined: of all games */
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
