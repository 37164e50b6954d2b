import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { isoInstant, placeholder, prepared, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { type BATTLE_STATES, battlesTables } from './entities.ts';

/** Builds queries of the tables of this area. */
export const build = queryBuilder(battlesTables);

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

const battles = build.selectFrom('battles as b').select((eb) => [
  ...(['b.id', 'b.game_id as gameId', 'b.created_by as createdBy', 'b.max_players as maxPlayers', 'b.duration_sec as durationSec'] as const),
  ...(['b.state as status', isoInstant('b.created_at').as('createdAt'), isoInstant('b.due_at').as('dueAt')] as const),
  sql<boolean>`b.due_at <= (select app_now())`.as('due'),
  isoInstant<string | null>('b.started_at').as('startedAt'),
  isoInstant<string | null>('b.ended_at').as('endedAt'),
  jsonArrayFrom(
    eb
      .selectFrom('battle_seats as s')
      .select(['s.wallet', 's.seat', isoInstant('s.joined_at').as('joinedAt'), 's.best as score', 's.scores', 's.place'])
      .whereRef('s.battle_id', '=', 'b.id')
      .orderBy('s.seat'),
  ).as('participants'),
]);
const active = build.selectFrom('battles').where('state', 'in', ['open', 'running']);
const countBattles = sql<number>`count(*)::int`.as('n');

// Named, because the participants poll the battle while it runs.
const selectBattle = prepared('select_battle', battles.where('b.id', '=', placeholder<string>(1)));

/** Reads a battle; undefined when it does not exist. */
export async function readBattle(db: Queryable, id: string): Promise<Battle | undefined> {
  return (await db.query(selectBattle, [id]))[0];
}

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
  const listed = gameId === undefined ? active : active.where('game_id', '=', gameId);
  const page = listed.select('id').orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).offset(offset);
  const [rows, [count]] = await Promise.all([
    run(db, battles.where('b.id', 'in', page).orderBy('b.created_at', 'desc').orderBy('b.id', 'desc')),
    run(db, listed.select(countBattles)),
  ]);
  return { battles: rows, total: count?.n ?? 0 };
}

// Counts the seats and reads the page from the index on the seats of a wallet. Later ids of battles sort after earlier ids.
const selectOwn = statement<{ total: number; id: string | null }>(
  'select_own_battles',
  `select n.total, p.id from (select count(*)::int as total from battle_seats where wallet = $1) n
   left join lateral (select battle_id::text as id from battle_seats where wallet = $1 order by battle_id desc limit $2 offset $3) p on true`,
);

/** Reads a page of the battles in which a wallet has a seat, newest first, and the number of all of them. */
export async function listOwn(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ battles: Battle[]; total: number }> {
  const found = await db.query(selectOwn, [wallet, limit, offset]);
  const ids = found.flatMap(({ id }) => id ?? []);
  const rows = ids.length === 0 ? [] : await run(db, battles.where('b.id', 'in', ids).orderBy('b.id', 'desc'));
  return { battles: rows, total: found[0]?.total ?? 0 };
}

/** Builds the query for the number `n` of open and running battles that a wallet created. */
export const countOwn = (wallet: string) => active.where('created_by', '=', wallet).select(countBattles);
