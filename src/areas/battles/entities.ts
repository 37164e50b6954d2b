import { defineEntity } from '@mikro-orm/core';
import { GamesTable } from '#areas/arcade';
import { checks, index, integer, oneOf, reference, smallint, timestamp, uuid, wallet } from '#platform/db/columns.ts';

/** States of a battle. */
export const BATTLE_STATES = ['open', 'running', 'finished', 'expired'] as const;

/** A row is a battle: wallets compete for the best score in a game within a fixed time. */
export const BattlesTable = defineEntity({
  name: 'Battles',
  tableName: 'battles',
  properties: {
    id: uuid().primary(),
    gameId: reference(GamesTable, 'game_id'),
    createdBy: wallet(),
    maxPlayers: smallint(),
    /** Time from the start to the end, seconds. */
    durationSec: integer(),
    /** open: wallets can join. running: scores count. finished: the battle has a result. expired: the battle did not start in time. */
    state: oneOf(...BATTLE_STATES).default('open'),
    createdAt: timestamp(),
    /** Time at which an open battle expires or a running battle ends, in whole milliseconds. It stays set after the end. */
    dueAt: timestamp(),
    startedAt: timestamp().nullable(),
    /** Time at which the battle became finished or expired. */
    endedAt: timestamp().nullable(),
  },
  checks: checks(
    "(started_at is not null) = (state in ('running', 'finished'))",
    "(ended_at is not null) = (state in ('finished', 'expired'))",
    'duration_sec >= 60 and duration_sec <= 86400',
    'max_players >= 2 and max_players <= 16',
  ),
  indexes: [
    index("create index battles_active on battles (created_at desc, id desc) where state in ('open', 'running')"),
    index("create index battles_active_game on battles (game_id, created_at desc, id desc) where state in ('open', 'running')"),
    index("create index battles_creator on battles (created_by) where state in ('open', 'running')"),
    index("create index battles_due on battles (due_at) where state in ('open', 'running')"),
  ],
});

/** A row is the seat of a wallet in a battle. */
export const BattleSeatsTable = defineEntity({
  name: 'BattleSeats',
  tableName: 'battle_seats',
  properties: {
    battleId: reference(BattlesTable, 'battle_id').primary(),
    wallet: wallet().primary(),
    /** Number of the seat in the order of joining. The creator has seat 1. */
    seat: smallint(),
    joinedAt: timestamp(),
    /** Best normalized score that counts. The end of the battle recomputes `best` and `scores`. */
    best: integer().nullable(),
    /** Number of scores that count. */
    scores: integer().default(0),
    /** Place in the result; null until the battle is finished, and for a seat without a score. */
    place: smallint().nullable(),
  },
  checks: checks('seat >= 1 and seat <= 16'),
  uniques: [{ name: 'battle_seats_battle_id_seat_key', properties: ['battleId', 'seat'] }],
  indexes: [index('create index battle_seats_wallet on battle_seats (wallet, battle_id desc)')],
});

/** Tables of this area. */
export const battlesTables = [BattlesTable, BattleSeatsTable] as const;
