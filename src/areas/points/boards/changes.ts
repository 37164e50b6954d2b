import { dayNumber } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { readStandings } from '../standings.ts';
import { applyToBoard } from './boards.ts';
import { readRedis, redisKeys } from './reader.ts';
import { readToday } from './rebuild.ts';
import { boardRanks } from './scripts.ts';

/** Maximum wallets per Redis call. A longer call would delay other callers of Redis. */
const CHUNK_SIZE = 500;

/** The value that a committed transaction gave to a wallet on a board, for all time; null = the wallet left the board. */
export interface BoardValue {
  readonly wallet: string;
  readonly value: number | null;
}

const chunksOf = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / CHUNK_SIZE) }, (_, i) => items.slice(i * CHUNK_SIZE, (i + 1) * CHUNK_SIZE));

/**
 * Returns the all-time rank of each value. First copies the standings of these wallets to the board in Redis if the board shows other values, so that
 * a client that has heard of a change finds it on the board.
 * @param changes at most one value per wallet
 * @returns ranks in the order of `changes`; null for a wallet that left the board, and for all while the board is not complete in Redis
 */
export async function rankChanges(app: App, board: string, changes: readonly BoardValue[]): Promise<(number | null)[]> {
  return (await Promise.all(chunksOf(changes).map((chunk) => rankChunk(app, board, chunk)))).flat();
}

async function rankChunk(app: App, board: string, changes: readonly BoardValue[]): Promise<(number | null)[]> {
  const keys = redisKeys(app, { board, span: 'all', bucket: 0, past: false });
  const args = changes.flatMap(({ wallet, value }) => [wallet, value ?? '']);
  const read = async () => (await readRedis(app, board, () => boardRanks(app.redis, keys, args)))?.[1] ?? null;
  let found = await read();
  // Also copies to a board that is being rebuilt, because the rebuild may have read these standings before they changed.
  const others = changes.filter(({ value }, i) => found === null || found[2 * i] !== (value === null ? '' : String(value)));
  if (others.length > 0) {
    const rows = await readStandings(
      app.db,
      others.map(({ wallet }) => ({ board, mode: 'regular', wallet })),
    );
    await applyToBoard(app, board, await readToday(app), rows);
    found = await read();
  }
  return changes.map((_, i) => Number(found?.[2 * i + 1] ?? 0) || null);
}

/** Returns the all-time places of wallets on a board; null while the board is not complete in Redis. */
export async function readPlaces(app: App, board: string, wallets: readonly string[]): Promise<(Neighbourhood | null)[]> {
  const day = dayNumber(app.clock.now());
  const read = async (chunk: readonly string[]) => (await applyToBoard(app, board, day, [], chunk)) ?? chunk.map(() => null);
  return (await Promise.all(chunksOf(wallets).map(read))).flat();
}
