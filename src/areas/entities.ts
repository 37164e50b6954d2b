import { CabinetRow, GameRow } from './arcade/entities.ts';

/** Every entity of the service; each area lists its own. Tables of hot paths are written by SQL alone and have none. */
export const entities = [GameRow, CabinetRow];
