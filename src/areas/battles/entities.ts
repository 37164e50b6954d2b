import { defineEntity } from '@mikro-orm/core';
import { GamesTable } from '#areas/arcade';
import { checks, index, integer, oneOf, reference, smallint, timestamp, uuid, wallet } from '#platform/db/columns.ts';

export const BattlesTable = defineEntity({
  name: 'Battles',
  tableName: 'battles',
  properties: {
    id: uuid().primary(),
    gameId: reference(GamesTable, 'game_id'),
    createdBy: wallet(),
    maxPlayers: smallint(),
    durationSec: integer(),
    state: oneOf('open', 'running', 'finished', 'expired').default('open'),
    createdAt: timestamp(),
    dueAt: timestamp(),
    startedAt: timestamp().nullable(),
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

export const BattleSeatsTable = defineEntity({
  name: 'BattleSeats',
  tableName: 'battle_seats',
  properties: {
    battleId: reference(BattlesTable, 'battle_id').primary(),
    wallet: wallet().primary(),
    seat: smallint(),
    joinedAt: timestamp(),
    best: integer().nullable(),
    scores: integer().default(0),
    place: smallint().nullable(),
  },
  checks: checks('seat >= 1 and seat <= 16'),
  uniques: [{ name: 'battle_seats_battle_id_seat_key', properties: ['battleId', 'seat'] }],
});

/** Tables of this area. */
export const battlesTables = [BattlesTable, BattleSeatsTable] as const;
