import { setTimeout as sleep } from 'node:timers/promises';
import { gameBoard, rankChanges, readPlaces } from '#areas/points';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import type { BatchedEvents, BatchedRow } from '#platform/events/event.ts';
import { type BoardChange, boardChanges, type RecordedScore, readRecordedLine, recordedScores, scoreRecorded, scoreUpdate } from '../events.ts';
import { recentPlaces } from './recent-places.ts';

/** Maximum changes in one broadcast. */
const MAX_CHANGES = 100;

/**
 * Selects the changes of a broadcast: the latest per wallet and game. If there are more than `limit`, games with few changes come first, so that as
 * few games as possible are incomplete.
 * @param changes the changes that are published together, oldest first
 * @returns `latest`: every latest change; `shown`: the changes of the broadcast; `more`: the games of which not every latest change is shown
 */
export function selectChanges(changes: readonly BoardChange[], limit = MAX_CHANGES): { latest: BoardChange[]; shown: BoardChange[]; more: string[] } {
  const latest = [...new Map(changes.map((change) => [`${change.wallet} ${change.gameId}`, change])).values()];
  if (latest.length <= limit) return { latest, shown: latest, more: [] };
  const byGame = [...Map.groupBy(latest, ({ gameId }) => gameId).values()].sort((a, b) => a.length - b.length);
  const shown = new Set(byGame.flat().slice(0, limit));
  const more = new Set(latest.flatMap((change) => (shown.has(change) ? [] : [change.gameId])));
  return { latest, shown: [...shown], more: [...more] };
}

/** The items of one outbox row: recorded scores, or changes of boards. */
interface Items {
  readonly scores: readonly RecordedScore[];
  readonly changes: readonly BoardChange[];
}

/** Reads all-time ranks on the boards of games. */
export interface RankSource {
  /** Returns the ranks of changes of one game, at most one per wallet. */
  ofChanges(app: App, gameId: string, changes: readonly BoardChange[]): Promise<(number | null)[]>;
  /** Returns the places of wallets in one game; null for a place that cannot be read. */
  ofWallets(app: App, gameId: string, wallets: readonly string[]): Promise<(Neighbourhood | null)[]>;
}

const ranksInRedis: RankSource = {
  ofChanges: (app, gameId, changes) =>
    rankChanges(
      app,
      gameBoard(gameId),
      changes.map(({ wallet, score }) => ({ wallet, value: score })),
    ),
  ofWallets: (app, gameId, wallets) => readPlaces(app, gameBoard(gameId), wallets),
};

/** Delay before the ranks are read, ms. Workers update the boards in Redis shortly after they commit the scores. */
const BOARD_DELAY_MS = 10;

/** Finds a value by wallet and game. */
class PerLine<T> {
  readonly #values = new Map<string, T>();
  set({ wallet, gameId }: { wallet: string; gameId: string }, value: T): void {
    this.#values.set(`${wallet} ${gameId}`, value);
  }
  get({ wallet, gameId }: { wallet: string; gameId: string }): T | null {
    return this.#values.get(`${wallet} ${gameId}`) ?? null;
  }
}

/**
 * Returns the functions that publish `score_recorded`, each score to its own wallet, and `score_update`, the changes of boards to all subscribers.
 * @param ranks functions that read the ranks
 */
export const scoreEvents = (app: App, ranks: RankSource = ranksInRedis): BatchedEvents<Items> => ({
  own: scoreRecorded,
  shared: scoreUpdate,
  parse: (type, payload) =>
    type === scoreRecorded.type
      ? { scores: recordedScores.payload.parse(payload).scores.map(readRecordedLine), changes: [] }
      : { ...boardChanges.payload.parse(payload), scores: [] },
  async encode(rows) {
    const changes = rows.flatMap(({ items }) => items.changes);
    const scores = rows.flatMap(({ items }) => items.scores);
    if (changes.length === 0 && scores.length === 0) return { own: rows.map(() => ''), shared: null };
    await sleep(BOARD_DELAY_MS);
    const { latest, shown, more } = selectChanges(changes);
    const rankOf = await readByGame(app, latest, (gameId, lines) => ranks.ofChanges(app, gameId, lines));
    const recent = app.state(recentPlaces);
    const unknown = scores.filter(({ scoreId }) => recent.of(scoreId) === undefined);
    const wallets = [...new Map(unknown.map(({ wallet, gameId }) => [`${wallet} ${gameId}`, { wallet, gameId }])).values()];
    const found = await readByGame(app, wallets, (gameId, lines) =>
      ranks.ofWallets(
        app,
        gameId,
        lines.map(({ wallet }) => wallet),
      ),
    );
    const placeOf = (score: RecordedScore) => recent.of(score.scoreId) ?? JSON.stringify(found.get(score));
    const updates = shown.map((change) => ({ ...change, rank: rankOf.get(change) }));
    return {
      own: rows.map((row) => (row.items.scores.length === 0 ? '' : pack(row, placeOf))),
      shared: updates.length === 0 ? null : { updates, ...(more.length > 0 ? { more } : {}) },
    };
  },
  unpack,
});

/**
 * Packs the scores of a row as text: its time, then one line per score with the wallet and the members of the payload. JSON has no line breaks.
 * @param placeOf returns the place of a score as JSON
 */
function pack({ at, items }: BatchedRow<Items>, placeOf: (score: RecordedScore) => string): string {
  const lines = items.scores.map((score) => {
    const { wallet, gameId, receipt } = score;
    return `${wallet} "gameId":${JSON.stringify(gameId)},${receipt},"rank":${placeOf(score)}`;
  });
  return [at, ...lines].join('\n');
}

const unpack: BatchedEvents['unpack'] = (text, wanted) => {
  const [at = '', ...lines] = text.split('\n');
  return lines.flatMap((line, i) => {
    const end = line.indexOf(' ');
    const wallet = line.slice(0, end);
    return wanted(wallet) ? [{ wallet, index: i + 1, at, members: line.slice(end + 1) }] : [];
  });
};

/**
 * Reads values of lines, one call per game. The values are missing if they cannot be read, so that other events are not delayed.
 * @param read function that returns the values of the lines of one game, in their order
 */
async function readByGame<Line extends { wallet: string; gameId: string }, T>(
  app: App,
  lines: readonly Line[],
  read: (gameId: string, lines: readonly Line[]) => Promise<(T | null)[]>,
): Promise<PerLine<T>> {
  const found = new PerLine<T>();
  const readGame = async (gameId: string, ofGame: readonly Line[]) => {
    const values = await read(gameId, ofGame);
    for (const [i, line] of ofGame.entries()) {
      const value = values[i];
      if (value !== null && value !== undefined) found.set(line, value);
    }
  };
  await Promise.all([...Map.groupBy(lines, ({ gameId }) => gameId)].map(([gameId, ofGame]) => readGame(gameId, ofGame))).catch((err: unknown) =>
    app.log.warn({ err }, 'ranks cannot be read; scores are published without them'),
  );
  return found;
}
