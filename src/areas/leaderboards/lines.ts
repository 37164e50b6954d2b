import { type BestScore, type Days, readBestScores } from '#areas/arcade';
import type { RankedLine } from '#areas/points';
import { readNames } from '#areas/wallets';
import { batchCache } from '#lib/batch-cache.ts';
import { bucketOf, bucketStart, type Span } from '#lib/periods.ts';
import { type App, perApp } from '#platform/app.ts';

/**
 * Maximum age of the cached score behind a line, ms. A new best score is another line. So the cached score is wrong only for this time, after a void or
 * a restored score of equal value.
 */
const MAX_AGE_MS = 10_000;
/** Maximum cached scores per process. */
const MAX_SCORES = 100_000;

/** A line of a board with the name of the wallet and, on the board of a game, the score behind the line. */
export interface BoardLine extends RankedLine {
  name: string | null;
  rawScore: number | null;
  at: string | null;
}

/** A line of the board of a game in a range of days. */
interface GameLine {
  readonly gameId: string;
  readonly days: Days;
  readonly line: RankedLine;
}

const bestScores = perApp((app) =>
  batchCache<GameLine, BestScore | null>(
    {
      keyOf: ({ gameId, days, line }) => `${gameId} ${days.first} ${days.last} ${line.wallet} ${line.score}`,
      maxAgeMs: MAX_AGE_MS,
      maxValues: MAX_SCORES,
    },
    async (items) => {
      // All items of a batch are lines of one page.
      const [first] = items;
      return first
        ? await readBestScores(
            app.db,
            first.gameId,
            first.days,
            items.map(({ line }) => line),
          )
        : [];
    },
  ),
);

const ALL_DAYS: Days = { first: 0, last: 2 ** 31 - 1 };
const GAME_BOARD = 'game:';

function daysOf(span: Span, day: number): Days {
  if (span === 'all') return ALL_DAYS;
  const bucket = bucketOf(span, day);
  return { first: bucketStart(span, bucket), last: bucketStart(span, bucket + 1) - 1 };
}

/**
 * Adds names and scores to lines of a board. Both are cached, so that a page costs a query only for the lines that are new or expired.
 * @param day any UTC day number in the period of the lines
 */
export async function describeLines(
  app: App,
  board: string,
  { span, day }: { span: Span; day: number },
  lines: readonly RankedLine[],
): Promise<BoardLine[]> {
  if (lines.length === 0) return [];
  const days = daysOf(span, day);
  const gameId = board.startsWith(GAME_BOARD) ? board.slice(GAME_BOARD.length) : null;
  const [names, scores] = await Promise.all([
    readNames(
      app,
      lines.map(({ wallet }) => wallet),
    ),
    gameId === null ? null : app.state(bestScores)(lines.map((line) => ({ gameId, days, line }))),
  ]);
  return lines.map(({ rank, wallet, score }, i) => {
    const best = scores?.[i];
    return { rank, wallet, name: names[i] ?? null, score, rawScore: best?.rawScore ?? null, at: best?.at ?? null };
  });
}
