import { sql } from 'kysely';
import { lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { battleCreated, battleJoined, battleStarted } from './events.ts';
import { type Battle, build, countOwn, readBattle } from './rows.ts';
import type { BattleTerms } from './schemas.ts';

/** Maximum open or running battles that one wallet may have created. */
export const MAX_OWN_BATTLES = 5;

/** SQL: the current time, read once, in whole milliseconds. */
const CLOCK = `(select date_trunc('milliseconds', app_now()) as at) clock`;

const insertBattle = statement(
  'insert_battle',
  `with battle as (
     insert into battles (id, game_id, created_by, max_players, duration_sec, created_at, due_at)
     select $1::uuid, $2, $3, $4::smallint, $5::int, at, at + interval '1 hour' from ${CLOCK} returning id, created_by, created_at)
   insert into battle_seats (battle_id, seat, wallet, joined_at) select id, 1, created_by, created_at from battle`,
);
const start = statement(
  'start_battle',
  `update battles set state = 'running', started_at = clock.at, due_at = clock.at + make_interval(secs => duration_sec) from ${CLOCK} where id = $1`,
);

const noSuchBattle = () => fail(404, 'no such battle');

/**
 * Locks the wallet's row, then the battle's row. Every writer locks in this order, so that two writers cannot deadlock. Reads the battle under these
 * locks.
 */
async function lockAndRead(tx: Tx, wallet: string, id: string): Promise<Battle> {
  const lock = build.selectFrom('battles').select('id').where('id', '=', id).forUpdate();
  const [players, , battle] = await Promise.all([lockPlayers(tx, [wallet]), run(tx, lock), readBattle(tx, id)]);
  if (players.get(wallet)?.banned) throw fail(403, 'this wallet is banned');
  if (!battle) throw noSuchBattle();
  return battle;
}

async function reread(tx: Tx, id: string): Promise<Battle> {
  const battle = await readBattle(tx, id);
  if (!battle) throw noSuchBattle();
  return battle;
}

/**
 * Opens a battle and gives the first seat to its creator.
 * @throws 403 when the wallet is banned
 * @throws 409 when the wallet has `MAX_OWN_BATTLES` open or running battles already
 */
export async function createBattle(tx: Tx, wallet: string, { gameId, maxPlayers, durationSec }: BattleTerms): Promise<Battle> {
  // The lock of the wallet serializes concurrent calls for this wallet, so that the count of its battles is exact.
  const [players, [own]] = await Promise.all([lockPlayers(tx, [wallet]), run(tx, countOwn(wallet))]);
  if (players.get(wallet)?.banned) throw fail(403, 'this wallet is banned');
  if (!own || own.n >= MAX_OWN_BATTLES) throw fail(409, `a wallet can have at most ${MAX_OWN_BATTLES} open or running battles, wait until one ends`);
  const id = newId();
  await tx.query(insertBattle, [id, gameId, wallet, maxPlayers, durationSec]);
  const battle = await reread(tx, id);
  tx.emit(battleCreated, { battleId: id, gameId, createdBy: wallet, maxPlayers, durationSec, expiresAt: battle.dueAt });
  return battle;
}

/**
 * Gives a wallet a seat in a battle. The last seat starts the battle. If the wallet has a seat already, returns the battle unchanged, in any state.
 * @throws 403 when the wallet is banned
 * @throws 404 when the battle does not exist
 * @throws 409 when the battle is full or not open
 */
export async function joinBattle(tx: Tx, wallet: string, id: string): Promise<Battle> {
  const battle = await lockAndRead(tx, wallet, id);
  const { participants, maxPlayers } = battle;
  if (participants.some((seat) => seat.wallet === wallet)) return battle;
  if (battle.status === 'running' && participants.length >= maxPlayers) throw fail(409, 'the battle is full');
  refuseUnlessOpen(battle, 'joined');
  const seat = participants.length + 1;
  const row = { battle_id: id, seat, wallet, joined_at: sql<string>`date_trunc('milliseconds', app_now())` };
  await run(tx, build.insertInto('battle_seats').values(row));
  tx.emit(battleJoined, { battleId: id, gameId: battle.gameId, wallet, seat, seatsLeft: maxPlayers - seat });
  return seat < maxPlayers ? await reread(tx, id) : await startNow(tx, id);
}

/**
 * Starts a battle before all seats are taken.
 * @throws 403 when the wallet is not the creator, or is banned
 * @throws 404 when the battle does not exist
 * @throws 409 when the battle is not open or has fewer than 2 participants
 */
export async function startBattle(tx: Tx, wallet: string, id: string): Promise<Battle> {
  const battle = await lockAndRead(tx, wallet, id);
  if (battle.createdBy !== wallet) throw fail(403, 'only the creator of a battle may start it');
  refuseUnlessOpen(battle, 'started');
  if (battle.participants.length < 2) throw fail(409, 'the battle must have at least 2 participants to be started');
  return await startNow(tx, id);
}

function refuseUnlessOpen({ status, due }: Battle, done: string): void {
  const present = status === 'open' && due ? 'expired' : status;
  if (present !== 'open') throw fail(409, `the battle must be open to be ${done}, it is ${present}`);
}

async function startNow(tx: Tx, id: string): Promise<Battle> {
  await tx.query(start, [id]);
  const battle = await reread(tx, id);
  tx.emit(battleStarted, { battleId: id, gameId: battle.gameId, players: battle.participants.map(({ wallet }) => wallet), endsAt: battle.dueAt });
  return battle;
}
