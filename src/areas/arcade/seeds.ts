import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { GameDefinition } from './games/definition.ts';
import { storeSimulation } from './replays/simulations.ts';
import { DEFAULT_THEME, THEME_SETTING } from './theme.ts';

const MINUTE = 60_000;

/** Games that the seed inserts into an empty table, by id. */
const GAMES: Record<string, typeof GameDefinition._input> = {
  'star-raiders': {
    name: 'Star Raiders',
    category: 'shooter',
    normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' },
    pointsPer10000: 500,
    caps: { dailyPoints: 5_000, scorePerSec: 500, minDurationMs: 15_000, maxDurationMs: 30 * MINUTE },
    verification: 'heartbeat',
  },
  // Its simulation is in games/block-cascade. A play lasts at most three minutes.
  'block-cascade': {
    name: 'Block Cascade',
    category: 'puzzle',
    normalization: {
      method: 'piecewise',
      min: 0,
      max: 400_000,
      direction: 'higher',
      points: [
        { score: 0, normalized: 0 },
        { score: 5_000, normalized: 4_000 },
        { score: 20_000, normalized: 7_500 },
        { score: 100_000, normalized: 9_500 },
        { score: 400_000, normalized: 10_000 },
      ],
    },
    pointsPer10000: 600,
    caps: { dailyPoints: 6_000, maxDurationMs: 30 * MINUTE },
    verification: 'replay',
  },
  // The score is a lap time in milliseconds; lower is better.
  'neon-sprint': {
    name: 'Neon Sprint',
    category: 'racing',
    normalization: { method: 'linear', min: 38_000, max: 240_000, direction: 'lower' },
    pointsPer10000: 300,
    caps: { dailyPoints: 3_000, minDurationMs: 38_000, maxDurationMs: 15 * MINUTE },
    verification: 'play',
  },
  // The score is a run time in milliseconds; lower is better. The same improvement adds more points to a fast run than to a slow run.
  'crypt-runner': {
    name: 'Crypt Runner',
    category: 'speedrun',
    normalization: {
      method: 'piecewise',
      min: 300_000,
      max: 1_800_000,
      direction: 'lower',
      points: [
        { score: 300_000, normalized: 10_000 },
        { score: 420_000, normalized: 8_500 },
        { score: 600_000, normalized: 5_000 },
        { score: 1_800_000, normalized: 0 },
      ],
    },
    pointsPer10000: 1_000,
    caps: { dailyPoints: 5_000, minDurationMs: 300_000, maxDurationMs: 60 * MINUTE },
    verification: 'heartbeat',
  },
  'orbital-defense': {
    name: 'Orbital Defense',
    category: 'strategy',
    normalization: {
      method: 'piecewise',
      min: 0,
      max: 60,
      direction: 'higher',
      points: [
        { score: 0, normalized: 0 },
        { score: 10, normalized: 1_500 },
        { score: 30, normalized: 6_000 },
        { score: 60, normalized: 10_000 },
      ],
    },
    pointsPer10000: 800,
    caps: { dailyPoints: 4_000, scorePerSec: 0.5, minDurationMs: 30_000, maxDurationMs: 90 * MINUTE },
    verification: 'heartbeat',
  },
  'beat-machine': {
    name: 'Beat Machine',
    category: 'rhythm',
    normalization: { method: 'linear', min: 0, max: 1_000_000, direction: 'higher' },
    pointsPer10000: 350,
    caps: { dailyPoints: 3_500, scorePerSec: 12_000, minDurationMs: 60_000, maxDurationMs: 10 * MINUTE },
    verification: 'play',
  },
  'vault-climber': {
    name: 'Vault Climber',
    category: 'platformer',
    normalization: { method: 'log', min: 0, max: 50_000, direction: 'higher' },
    pointsPer10000: 450,
    caps: { dailyPoints: 4_500, scorePerSec: 100, minDurationMs: 20_000, maxDurationMs: 60 * MINUTE },
    verification: 'play',
  },
  'token-pusher': {
    name: 'Token Pusher',
    category: 'casual',
    normalization: { method: 'linear', min: 0, max: 5_000, direction: 'higher' },
    pointsPer10000: 50,
    caps: { dailyPoints: 500 },
    verification: 'none',
  },
  'pixel-angler': {
    name: 'Pixel Angler',
    category: 'casual',
    normalization: { method: 'log', min: 0, max: 10_000, direction: 'higher' },
    pointsPer10000: 100,
    caps: { dailyPoints: 1_000, scorePerSec: 20, minDurationMs: 1_000, maxDurationMs: 60 * MINUTE },
    verification: 'play',
    rewards: false,
  },
  'gem-drop': {
    name: 'Gem Drop',
    category: 'puzzle',
    normalization: { method: 'log', min: 0, max: 1_000_000, direction: 'higher' },
    pointsPer10000: 400,
    caps: { dailyPoints: 4_000, scorePerSec: 2_000, minDurationMs: 10_000, maxDurationMs: 120 * MINUTE },
    verification: 'play',
  },
};

/** The game that verifies by replay, and the limits of its plays: three minutes at 60 ticks per second. */
const REPLAYED = 'block-cascade';
const REPLAY_LIMITS = { ticksPerSecond: 60, maxTicks: 10_800, instructionsPerTick: 20_000 };
const MODULE = new URL('../../../games/block-cascade/block-cascade.wasm', import.meta.url);

/** Id of the game whose scores clients must sign. The seed sets a random secret; an operator replaces it with the secret of the game's build. */
const SIGNED = 'vault-climber';

/** One cabinet for each of the first eight games, displayed in two rows of four. */
const CABINETS = Object.entries(GAMES)
  .slice(0, 8)
  .map(([gameId, { name }], i) => ({
    id: `cabinet-${i + 1}`,
    gameId,
    display: {
      name,
      position: { row: Math.floor(i / 4) + 1, column: (i % 4) + 1 },
      marquee: `${name.toUpperCase()}!`,
      skin: i % 2 ? 'cobalt' : 'magenta',
    },
  }));

const lockSeeds = statement('lock_seeds', `select pg_advisory_xact_lock(hashtext('seeds'))`);
const anyGame = statement<{ id: string }>('select_any_game', 'select id from games limit 1');
const fillGames = statement<{ id: string }>(
  'seed_games',
  `with game as (
     insert into games (id, version, definition, secret)
     select g.id, 1, g.definition, g.secret from unnest($1::text[], $2::jsonb[], $3::text[]) as g(id, definition, secret)
     where not exists (select from games) returning id, definition)
   insert into game_versions (game_id, version, definition) select id, 1, definition from game returning game_id as id`,
);
const fillCabinets = statement<{ id: string }>(
  'seed_cabinets',
  `insert into cabinets (id, game_id, display, version)
   select c.id, c.game_id, c.display, 1 from unnest($1::text[], $2::text[], $3::jsonb[]) as c(id, game_id, display)
   where not exists (select from cabinets) and exists (select from games where id = c.game_id) returning id`,
);
const fillTheme = statement<{ id: string }>(
  'seed_theme',
  `insert into settings (name, version, value) select $1, 1, $2::jsonb where not exists (select from settings where name = $1) returning name as id`,
);

/**
 * Inserts the games, the cabinets and the theme, each only if the database has none. Precondition: `db` is in a transaction. The function serializes
 * concurrent calls with a lock, which is released at the end of this transaction.
 * @returns names and row counts of the filled tables, for the log
 */
export async function seedArcade(db: Queryable): Promise<string[]> {
  await db.query(lockSeeds);
  const games = (await db.query(anyGame)).length > 0 ? [] : await seedGames(db);
  const cabinets = await db.query(fillCabinets, [
    CABINETS.map((cabinet) => cabinet.id),
    CABINETS.map((cabinet) => cabinet.gameId),
    CABINETS.map((cabinet) => JSON.stringify(cabinet.display)),
  ]);
  const theme = await db.query(fillTheme, [THEME_SETTING, JSON.stringify(DEFAULT_THEME)]);
  return Object.entries({ games, cabinets, theme }).flatMap(([name, rows]) => (rows.length > 0 ? [`${name} (${rows.length})`] : []));
}

/** Inserts the games, and the simulation that one of them names. */
async function seedGames(db: Queryable): Promise<{ id: string }[]> {
  const { hash } = await storeSimulation(db, new Uint8Array(await readFile(MODULE)), REPLAY_LIMITS, 'seed');
  const definitions = Object.entries(GAMES).map(([id, game]) =>
    JSON.stringify(GameDefinition.parse(id === REPLAYED ? { ...game, simulation: hash } : game)),
  );
  const secrets = Object.keys(GAMES).map((id) => (id === SIGNED ? randomBytes(32).toString('hex') : null));
  return await db.query(fillGames, [Object.keys(GAMES), definitions, secrets]);
}
