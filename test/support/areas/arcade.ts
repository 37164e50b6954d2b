import { ADMIN_TOKEN, type TestApp } from '../app.ts';
import { contradictions } from '../invariants.ts';
import { type SignedIn, send } from '../wallet.ts';
import { sql } from './boards.ts';
import { retryUntilPass } from './player.ts';

/** Rules that hold no score, for the tests that are not about these rules. */
export const LENIENT = {
  maxLivePlays: 1_000,
  review: { perfectFrom: null, repeatedScores: null, overlapSec: null, newcomerScores: null, maxHeldPerWallet: 1_000 },
} as const;

/** Definition of a test game: verification by a play of any length, 100 points for the highest score. No rule holds its scores. */
export const TEST_GAME = {
  name: 'Test game',
  category: 'test',
  normalization: { method: 'linear', min: 0, max: 10_000, direction: 'higher' },
  pointsPer10000: 100,
  caps: { dailyPoints: 1_000_000, minDurationMs: 0, maxDurationMs: 3_600_000 },
  verification: 'play',
  ...LENIENT,
} as const;

/** Registers a game with the admin API. */
export async function registerGame(url: string, adminToken: string, id: string, definition: object = TEST_GAME): Promise<void> {
  const response = await send({ url }, `/admin/games/${id}`, { method: 'PUT', json: definition, headers: { Authorization: `Bearer ${adminToken}` } });
  if (!response.ok) throw new Error(`PUT /admin/games/${id} answered ${response.status}: ${await response.text()}`);
}

/** Starts a play of a game and returns its id. */
export async function startPlay(player: SignedIn, gameId: string): Promise<string> {
  const response = await player.fetch(`/game/${gameId}/play`, { method: 'POST' });
  if (response.status !== 201) throw new Error(`POST /game/${gameId}/play answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { playId: string }).playId;
}

/** Submits a score with POST /arcade/score. */
export async function submitScore(player: SignedIn, body: Record<string, unknown>, headers: Record<string, string> = {}) {
  const response = await player.fetch('/arcade/score', { json: body, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & { error?: string; scoreId: string } };
}

/** Starts a play and submits its score. */
export async function playAndScore(player: SignedIn, gameId: string, score: number) {
  return await submitScore(player, { gameId, score, playId: await startPlay(player, gameId) });
}

/** Sends a request with the admin token: POST if `json` is given, otherwise GET. */
export function requestAsAdmin(t: TestApp, path: string, json?: unknown): Promise<Response> {
  return send(t, path, { ...(json === undefined ? {} : { json }), headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
}

/** Waits until ledger, standings, boards and Redis agree. */
export async function expectConsistent(t: TestApp): Promise<void> {
  const places = { databaseUrl: t.env.DATABASE_URL ?? '', redisUrl: t.env.REDIS_URL ?? '', redisPrefix: t.env.REDIS_PREFIX ?? '' };
  await retryUntilPass(async () => {
    const found = await contradictions(places);
    if (found.length > 0) throw new Error(found.join('\n'));
  });
}

/** Allows many live plays of a wallet in a game, for tests whose plays overlap. */
export async function allowLivePlays({ app }: Pick<TestApp, 'app'>, gameId: string): Promise<void> {
  await sql(app, `update games set definition = jsonb_set(definition, '{maxLivePlays}', '20') where id = $1`, [gameId]);
}
