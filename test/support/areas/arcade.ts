import { send } from '../wallet.ts';

/** Definition of a test game: verification by a play of any length, 100 points for the highest score. */
export const TEST_GAME = {
  name: 'Test game',
  category: 'test',
  normalization: { method: 'linear', min: 0, max: 10_000, direction: 'higher' },
  pointsPer10000: 100,
  caps: { dailyPoints: 1_000_000, minDurationMs: 0, maxDurationMs: 3_600_000 },
  verification: 'play',
} as const;

/** Registers a game with the admin API. */
export async function registerGame(url: string, adminToken: string, id: string, definition: object = TEST_GAME): Promise<void> {
  const response = await send({ url }, `/admin/games/${id}`, { method: 'PUT', json: definition, headers: { Authorization: `Bearer ${adminToken}` } });
  if (!response.ok) throw new Error(`PUT /admin/games/${id} answered ${response.status}: ${await response.text()}`);
}
