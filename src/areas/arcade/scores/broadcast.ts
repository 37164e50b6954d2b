import { setTimeout as sleep } from 'node:timers/promises';
import { gameBoard, readRanks } from '#areas/points';
import type { App } from '#platform/app.ts';
import type { BatchedEvent } from '#platform/events/event.ts';
import { type RankedScore, type ScoreUpdate, scoreUpdate } from '../events.ts';

/** Maximum scores in one broadcast. */
const MAX_BROADCAST_SCORES = 100;

/**
 * Selects the scores of a broadcast: the best score per wallet and game. Of two equal scores, selects the newer one, unless the older one is a
 * personal best. Returns personal bests before other scores, and newer scores before older ones.
 * @param updates the accepted scores that are published together, oldest first
 */
export function selectBroadcast(updates: readonly ScoreUpdate[], limit = MAX_BROADCAST_SCORES): ScoreUpdate[] {
  const best = new Map<string, ScoreUpdate>();
  for (const update of updates) {
    const key = `${update.wallet} ${update.gameId}`;
    const known = best.get(key);
    if (known && (known.score > update.score || (known.score === update.score && known.personalBest))) continue;
    // Deletes the entry before setting it again, so that the entry moves to the end of the map. The map is ordered by the time of the latest update.
    best.delete(key);
    best.set(key, update);
  }
  const newestFirst = [...best.values()].reverse();
  return [...newestFirst.filter((u) => u.personalBest), ...newestFirst.filter((u) => !u.personalBest)].slice(0, limit);
}

type PackedUpdate = [wallet: string, gameId: string, score: number, scoreId: string, pointsAwarded: number, personalBest: 0 | 1];

/** Reads the all-time ranks of wallets in their games, in the order of `entries`; null for a wallet without a rank. */
export type RankSource = (app: App, entries: readonly { wallet: string; gameId: string }[]) => Promise<(number | null)[]>;

/** Delay before the ranks are read, ms. Workers update the boards in Redis shortly after they commit the scores. */
const BOARD_DELAY_MS = 10;

/** Reads the ranks from the boards in Redis, one request per game. */
const ranksInRedis: RankSource = async (app, entries) => {
  const found = new Map<(typeof entries)[number], number | null>();
  await Promise.all(
    [...Map.groupBy(entries, (entry) => entry.gameId)].map(async ([gameId, ofGame]) => {
      const wallets = ofGame.map((entry) => entry.wallet);
      const ranks = await readRanks(app, gameBoard(gameId), wallets);
      for (const [i, entry] of ofGame.entries()) found.set(entry, ranks[i] ?? null);
    }),
  );
  return entries.map((entry) => found.get(entry) ?? null);
};

/**
 * Returns the functions that publish `score_update` events. The functions send the full update of each score to the wallet of the score, and
 * broadcast the best of the scores that are published together, with their ranks.
 * @param rankSource function that reads the ranks
 */
export const scoreBroadcast = (app: App, rankSource: RankSource = ranksInRedis): BatchedEvent<ScoreUpdate> => ({
  type: scoreUpdate,
  items: (payload) => scoreUpdate.payload.parse(payload).updates,
  pack(at, updates) {
    const packed: PackedUpdate[] = updates.map((u) => [u.wallet, u.gameId, u.score, u.scoreId, u.pointsAwarded, u.personalBest ? 1 : 0]);
    return JSON.stringify({ at, updates: packed });
  },
  unpack(text, wanted) {
    const { at, updates }: { at: string; updates: PackedUpdate[] } = JSON.parse(text);
    return updates.flatMap(([wallet, gameId, score, scoreId, pointsAwarded, personalBest], i) => {
      if (!wanted(wallet)) return [];
      const update: ScoreUpdate = { wallet, gameId, score, scoreId, pointsAwarded, personalBest: personalBest === 1 };
      return [{ wallet, index: i + 1, at, payload: { updates: [update] } }];
    });
  },
  async broadcast(updates) {
    const shown = selectBroadcast(updates);
    await sleep(BOARD_DELAY_MS);
    // Publishes the scores without ranks if the ranks cannot be read, so that other events are not delayed.
    const ranks = await rankSource(app, shown).catch((err: unknown) => {
      app.log.warn({ err }, 'ranks cannot be read; scores are broadcast without them');
      return [];
    });
    const ranked = shown.map(({ wallet, gameId, score }, i): RankedScore => ({ wallet, gameId, score, rank: ranks[i] ?? null }));
    return { updates: ranked };
  },
});
