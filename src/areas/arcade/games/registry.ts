import { LockMode, raw } from '@mikro-orm/core';
import { canonicalize } from '#lib/canonical.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';
import { GamesTable } from '../entities.ts';
import { type ExpectedVersions, matchesExpected, staleVersion } from '../versions.ts';
import { completeDefinition, type Game, type GameDefinition } from './definition.ts';

/** Maximum age of the cached registry of games, ms. A changed game takes effect in every process within this time. */
const MAX_AGE_MS = 1_000;

const allGames = build
  .selectFrom('games')
  .select(['id', 'version', 'definition', 'secret'])
  .orderBy('id', (order) => order.collate('C'));

type Games = ReadonlyMap<string, Game>;
const registry = perApp((app) =>
  ttlCache<'games', Games>(MAX_AGE_MS, async () => {
    const rows = await run(app.db, allGames);
    return new Map(rows.map(({ id, version, definition, secret }) => [id, { ...completeDefinition(definition), id, version, secret }]));
  }),
);

/** Returns all games, keyed by id and ordered by id. The data is at most one second old. */
export function loadGames(app: App): Promise<Games> {
  return app.state(registry).get('games');
}

/** Returns a game; null when the game does not exist. The data is at most one second old. */
export async function findGame(app: App, id: string): Promise<Game | null> {
  return (await loadGames(app)).get(id) ?? null;
}

/**
 * Evicts the cached registry of games in this process, so that the next read in this process queries the database. Other processes see a changed game
 * within a second.
 */
export function invalidateGames(app: App): void {
  app.state(registry).delete('games');
}

const insertGame = (id: string, definition: GameDefinition, secret: string | null) =>
  build
    .insertInto('games')
    .values({ id, version: 1, definition, secret })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id');

const insertVersion = (id: string, version: number, definition: GameDefinition) =>
  build.insertInto('game_versions').values({ game_id: id, version, definition });

/** A new configuration of a game. `secret`: null removes the secret; undefined keeps the present secret. */
interface GameChange {
  id: string;
  definition: GameDefinition;
  secret: string | null | undefined;
}

/**
 * Creates a game, or stores a new version of it. If nothing changes, the game keeps its version.
 * @throws 412 when `expected` does not match the game's version
 */
export async function putGame(tx: Tx, { id, definition, secret }: GameChange, expected: ExpectedVersions): Promise<{ game: Game; created: boolean }> {
  if (matchesExpected(expected, 0) && (await run(tx, insertGame(id, definition, secret ?? null))).length > 0) {
    await run(tx, insertVersion(id, 1, definition));
    return { game: { ...definition, id, version: 1, secret: secret ?? null }, created: true };
  }
  const row = await tx.em.findOne(GamesTable, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!row || !matchesExpected(expected, row.version)) throw staleVersion();
  const next = secret === undefined ? row.secret : secret;
  if (canonicalize(completeDefinition(row.definition)) !== canonicalize(definition) || row.secret !== next) {
    row.version += 1;
    row.definition = definition;
    row.secret = next;
    row.updatedAt = raw('app_now()');
    await run(tx, insertVersion(id, row.version, definition));
  }
  return { game: { ...definition, id, version: row.version, secret: next ?? null }, created: false };
}
