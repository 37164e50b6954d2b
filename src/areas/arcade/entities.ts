import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { GameDefinition } from './games/definition.ts';

/** A row of the registry of games: the game's current definition, version and HMAC secret. */
export const GameRow = defineEntity({
  name: 'GameRow',
  tableName: 'games',
  properties: {
    id: p.string().primary(),
    version: p.integer(),
    definition: p.json<GameDefinition>(),
    secret: p.string().nullable(),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('app_now()'),
  },
});
export type GameRow = InferEntity<typeof GameRow>;

/** A machine in the arcade that shows a game. */
export const CabinetRow = defineEntity({
  name: 'CabinetRow',
  tableName: 'cabinets',
  properties: {
    id: p.string().primary(),
    gameId: p.string(),
    display: p.json<Record<string, unknown>>(),
    possessedBy: p.string().nullable(),
    version: p.integer(),
    updatedAt: p.datetime().columnType('timestamptz').defaultRaw('app_now()'),
  },
});
export type CabinetRow = InferEntity<typeof CabinetRow>;
