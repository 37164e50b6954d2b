import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { learnTime } from '../live/clock.ts';
import { createLoaded, type Loaded } from '../live/load.ts';
import { on } from '../live/stream.ts';
import { sessionKey } from '../session/session-key.ts';
import type { Problem } from '../ui/problem.ts';
import { applyChanges, type Change, type Line } from './board-lines.ts';

/** Minimum time between two reads of a board that events tell about, ms. */
const REFRESH_MS = 3_000;

/** A board: of one game, or of the points of all games (`gameId` null); of one period, or of all time (`period` null). */
export interface BoardChoice {
  readonly gameId: string | null;
  readonly period: Api.Period | null;
  /** Shows the lines around the visitor instead of the first lines. */
  readonly around: boolean;
  readonly limit: number;
}

export interface LiveBoard {
  readonly lines: ReadonlySignal<readonly Line[] | undefined>;
  readonly problem: ReadonlySignal<Problem | null>;
  reload(): void;
}

async function readBoard({ gameId, period, around, limit }: BoardChoice): Promise<readonly Line[]> {
  const query = { limit, ...(period ? { period } : {}), ...(around ? { around: 'me' as const } : {}) };
  const response = await ok(
    gameId === null ? client.get('/leaderboard/global', { query }) : client.get('/game/{id}/leaderboard', { params: { id: gameId }, query }),
  );
  learnTime(response.headers);
  return response.body;
}

/**
 * Loads a board and keeps it up to date. The board of all time of one game follows the events, at most once a frame. Every other board is read again after
 * events, at most every three seconds.
 */
export function useBoard(choice: BoardChoice): LiveBoard {
  const { gameId, period, around, limit } = choice;
  const key = [gameId, period, around, limit, around ? sessionKey.value : 0];
  const board = useMemo(() => createBoard(choice), key);
  useEffect(() => board.start(), [board]);
  return board;
}

function createBoard(choice: BoardChoice): LiveBoard & { start(): () => void } {
  const { gameId, limit } = choice;
  const follows = gameId !== null && choice.period === null && !choice.around;
  /** Changes that came while the board was read: the answer may be older. */
  const during = new Map<string, Change>();
  let pending = new Map<string, Change>();
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const loaded: Loaded<readonly Line[]> & { start(): () => void } = createLoaded(async () => {
    during.clear();
    const lines = await readBoard(choice);
    return follows ? applyChanges(lines, during.values(), limit).lines : lines;
  });

  function refreshSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      loaded.reload();
    }, REFRESH_MS);
  }

  function applyPending(): void {
    frame = 0;
    const changes = pending;
    pending = new Map();
    const lines = loaded.value.value;
    if (!lines) return;
    const changed = applyChanges(lines, changes.values(), limit);
    loaded.value.value = changed.lines;
    if (changed.isIncomplete) refreshSoon();
  }

  return {
    lines: loaded.value,
    problem: loaded.problem,
    reload: loaded.reload,
    start() {
      const stopLoading = loaded.start();
      const stopEvents = on('score_update', ({ updates, more }) => {
        if (gameId === null) return refreshSoon();
        const own = updates.filter((update) => update.gameId === gameId);
        if (more?.includes(gameId) || (!follows && own.length > 0)) refreshSoon();
        if (!follows || own.length === 0) return;
        for (const change of own) {
          during.set(change.wallet, change);
          pending.set(change.wallet, change);
        }
        frame ||= requestAnimationFrame(applyPending);
      });
      return () => {
        stopLoading();
        stopEvents();
        cancelAnimationFrame(frame);
        frame = 0;
        clearTimeout(timer);
        timer = undefined;
      };
    },
  };
}
