import { setTimeout as sleep } from 'node:timers/promises';
import { gameBoard, rankOf } from '#areas/points';
import type { App } from '#platform/app.ts';
import type { BatchedEvent } from '#platform/events/event.ts';
import { type RankedScore, type ScoreUpdate, scoreUpdate } from '../events.ts';

/** How many scores one broadcast shows. */
export const BROADCAST_SCORES = 100;

/**
 * The scores of a round that everybody is shown: of each wallet and game the newest best;
 * personal bests first, then the newest.
 * @param updates in the order in which they were accepted
 */
export function newestBest(updates: readonly ScoreUpdate[], limit = BROADCAST_SCORES): ScoreUpdate[] {
  const best = new Map<string, ScoreUpdate>();
  for (const update of updates) {
    const key = `${update.wallet} ${update.gameId}`;
    const known = best.get(key);
    if (known && (known.score > update.score || (known.score === update.score && known.personalBest))) continue;
    // Set anew, so that the map's order is that of the newest.
    best.delete(key);
    best.set(key, update);
  }
  const newestFirst = [...best.values()].reverse();
  return [...newestFirst.filter((u) => u.personalBest), ...newestFirst.filter((u) => !u.personalBest)].slice(0, limit);
}

type Packed = [wallet: string, gameId: string, score: number, scoreId: string, pointsAwarded: number, personalBest: 0 | 1];

/** Returns the all-time ranks of wallets in their games, in the order asked; null where a board has no rank. */
export type ReadRanks = (app: App, entries: readonly { wallet: string; gameId: string }[]) => Promise<(number | null)[]>;

/** Boards take scores right after their commit, so the broadcast reads the ranks this much later, ms. */
const BOARDS_MS = 10;

/** Reads the ranks from the boards in Redis, one request per game. */
const ranksInRedis: ReadRanks = async (app, entries) => {
  const found = new Map<(typeof entries)[number], number | null>();
  await Promise.all(
    [...Map.groupBy(entries, (entry) => entry.gameId)].map(async ([gameId, ofGame]) => {
      const wallets = ofGame.map((entry) => entry.wallet);
      const ranks = await rankOf(app, gameBoard(gameId), wallets);
      for (const [i, entry] of ofGame.entries()) found.set(entry, ranks[i] ?? null);
    }),
  );
  return entries.map((entry) => found.get(entry) ?? null);
};

/**
 * Publishes `score_update`: each score to its own wallet in full, and the best of a tick to everybody with ranks.
 * @param readRanks where the ranks come from
 */
export const scoreBroadcast = (readRanks: ReadRanks = ranksInRedis): BatchedEvent<ScoreUpdate> => ({
  type: scoreUpdate,
  items: (payload) => scoreUpdate.payload.parse(payload).updates,
  pack(at, updates) {
    const packed: Packed[] = updates.map((u) => [u.wallet, u.gameId, u.score, u.scoreId, u.pointsAwarded, u.personalBest ? 1 : 0]);
    return JSON.stringify({ at, updates: packed });
  },
  unpack(text, wanted) {
    const { at, updates }: { at: string; updates: Packed[] } = JSON.parse(text);
    return updates.flatMap(([wallet, gameId, score, scoreId, pointsAwarded, personalBest], i) => {
      if (!wanted(wallet)) return [];
      const update: ScoreUpdate = { wallet, gameId, score, scoreId, pointsAwarded, personalBest: personalBest === 1 };
      return [{ wallet, index: i + 1, at, payload: { updates: [update] } }];
    });
  },
  async broadcast(app, updates) {
    const shown = newestBest(updates);
    await sleep(BOARDS_MS);
    // Events must not wait for boards that do not answer: the scores go out without ranks.
    const ranks = await readRanks(app, shown).catch((err: unknown) => {
      app.log.warn({ err }, 'ranks cannot be read; scores are broadcast without them');
      return [];
    });
    const ranked = shown.map(({ wallet, gameId, score }, i): RankedScore => ({ wallet, gameId, score, rank: ranks[i] ?? null }));
    return { updates: ranked };
  },
});
