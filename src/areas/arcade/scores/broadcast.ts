import type { RankedScore, ScoreUpdate } from '#areas/event-catalogue.ts';

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

export const ranked = (update: ScoreUpdate, rank: number | null): RankedScore => ({
  wallet: update.wallet,
  gameId: update.gameId,
  score: update.score,
  rank,
});

type Packed = [wallet: string, gameId: string, score: number, scoreId: string, pointsAwarded: number, personalBest: 0 | 1];

/** A row's scores as the feed carries them to their own wallets: packed, because there are hundreds in each. */
export function packScores(at: string, updates: readonly ScoreUpdate[]): string {
  const packed: Packed[] = updates.map((u) => [u.wallet, u.gameId, u.score, u.scoreId, u.pointsAwarded, u.personalBest ? 1 : 0]);
  return JSON.stringify({ at, updates: packed });
}

/** One score of a packed row, and its number in the row, from 1. */
export interface OwnScore {
  readonly index: number;
  readonly at: string;
  readonly update: ScoreUpdate;
}

/** The scores of the wallets that are wanted, in order. */
export function unpackScores(own: string, wanted: (wallet: string) => boolean): OwnScore[] {
  const { at, updates }: { at: string; updates: Packed[] } = JSON.parse(own);
  return updates.flatMap(([wallet, gameId, score, scoreId, pointsAwarded, personalBest], i) =>
    wanted(wallet) ? [{ index: i + 1, at, update: { wallet, gameId, score, scoreId, pointsAwarded, personalBest: personalBest === 1 } }] : [],
  );
}
