import { z } from 'zod';
import { findGame, GameStatsView, GameSummary, gameStats, gameSummary } from '#areas/arcade';
import { BattleView, listActiveBattles } from '#areas/battles';
import { BoardRank, Leaderboard, listBoard, readBoardRank } from '#areas/leaderboards';
import { gameBoard } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { Count, Slug } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { listActiveEvents } from './active-events.ts';
import { ActiveEvent } from './schemas.ts';

/** Number of lines of the board, and maximum number of battles. */
const LINES = 10;
const BATTLES = 10;

const Lobby = z
  .strictObject({
    game: GameSummary,
    stats: GameStatsView,
    leaderboard: Leaderboard.max(LINES).meta({ description: `The first ${LINES} lines of the game’s all-time board.` }),
    players: Count.meta({ description: 'Number of wallets on this board.', example: 311 }),
    rank: BoardRank.nullable().meta({ description: 'The caller’s rank on this board; null without a session.' }),
    battles: z
      .array(BattleView)
      .max(BATTLES)
      .meta({ description: `The newest ${BATTLES} open and running battles of the game.` }),
    activeBattles: Count.meta({ description: 'Number of all open and running battles of the game.', example: 3 }),
    activeEvents: z.array(ActiveEvent).meta({ description: 'The active events, as `/arcade/state` lists them.' }),
  })
  .meta({ id: 'Lobby' });

async function readLobby(app: App, gameId: string, wallet: string | null): Promise<z.input<typeof Lobby>> {
  const game = await findGame(app, gameId);
  if (!game) throw fail(404, 'game must be a game of this arcade');
  const board = gameBoard(game.id);
  const [stats, page, rank, { battles, total }, activeEvents] = await Promise.all([
    gameStats(app, game.id),
    listBoard(app, board, { limit: LINES, offset: 0 }, null),
    wallet === null ? null : readBoardRank(app, board, {}, wallet),
    listActiveBattles(app, game, BATTLES),
    listActiveEvents(app.db),
  ]);
  return {
    game: gameSummary(game),
    stats: { gameId: game.id, ...stats },
    leaderboard: page.body.value,
    players: Number(page.headers?.['X-Total-Count'] ?? 0),
    rank,
    ...{ battles, activeBattles: total, activeEvents },
  };
}

export const lobby = route({
  method: 'get',
  path: '/api/lobby',
  auth: 'optional',
  summary: 'Read what the screen of a game shows, in one request',
  description: 'The game, its stats, the top of its board, the caller’s rank, the battles that can be joined or watched, and the active events.',
  query: z.object({ game: Slug.meta({ description: 'The game’s id.', example: 'star-raiders' }) }),
  returns: { 200: Lobby },
  fails: [404],
  cache: 'private, no-cache',
  handler: async ({ app, query, wallet }) => reply(200, await readLobby(app, query.game, wallet)),
});
