import { LockMode, raw } from '@mikro-orm/core';
import { canonicalize } from '#lib/canonical.ts';
import { type TtlCache, ttlCache } from '#lib/ttl-cache.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { GameRow } from './entities.ts';
import type { Game, GameDefinition } from './game.ts';
import { type Expected, isExpected, stale } from './versions.ts';

/** How long a process works with the registry it has read: a changed game takes effect everywhere within a second. */
const MAX_AGE_MS = 1_000;

const selectGames = statement<{ id: string; version: number; definition: GameDefinition; secret: string | null }>(
  'select_games',
  'select id, version, definition, secret from games order by id collate "C"',
);

type Games = ReadonlyMap<string, Game>;
const registries = new WeakMap<App, TtlCache<'games', Games>>();

function registryOf(app: App): TtlCache<'games', Games> {
  let registry = registries.get(app);
  if (!registry) {
    registry = ttlCache(MAX_AGE_MS, async () => {
      const rows = await app.db.query(selectGames);
      return new Map(rows.map(({ id, version, definition, secret }) => [id, { ...definition, id, version, secret }]));
    });
    registries.set(app, registry);
  }
  return registry;
}

/** Every game by its id, in the order of ids; at most a second old. */
export function loadGames(app: App): Promise<Games> {
  return registryOf(app).get('games');
}

/** One game, at most a second old; null when there is none of that id. */
export async function findGame(app: App, id: string): Promise<Game | null> {
  return (await loadGames(app)).get(id) ?? null;
}

/** Makes this process read the registry anew; the others do so within a second. */
export function forgetGames(app: App): void {
  registryOf(app).forget('games');
}

const insertGame = statement<{ id: string }>(
  'insert_game',
  'insert into games (id, version, definition, secret) values ($1, 1, $2, $3) on conflict do nothing returning id',
);
const insertVersion = statement('insert_game_version', 'insert into game_versions (game_id, version, definition) values ($1, $2, $3)');

/** What a game is to become. `secret`: null removes it, absent keeps it. */
export interface GameChange {
  id: string;
  definition: GameDefinition;
  secret: string | null | undefined;
}

/**
 * Creates a game or gives it a new version; what already is as asked keeps its version.
 * @throws 412 when the game is at no version that `expected` takes
 */
export async function putGame(tx: Tx, { id, definition, secret }: GameChange, expected: Expected): Promise<{ game: Game; created: boolean }> {
  const text = JSON.stringify(definition);
  if (isExpected(expected, 0) && (await tx.query(insertGame, [id, text, secret ?? null])).length > 0) {
    await tx.query(insertVersion, [id, 1, text]);
    return { game: { ...definition, id, version: 1, secret: secret ?? null }, created: true };
  }
  const row = await tx.em.findOne(GameRow, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!row || !isExpected(expected, row.version)) throw stale();
  const next = secret === undefined ? row.secret : secret;
  if (canonicalize(row.definition) !== canonicalize(definition) || row.secret !== next) {
    row.version += 1;
    row.definition = definition;
    row.secret = next;
    row.updatedAt = raw('app_now()');
    await tx.query(insertVersion, [id, row.version, text]);
  }
  return { game: { ...definition, id, version: row.version, secret: next ?? null }, created: false };
}
