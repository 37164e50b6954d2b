/** The public API of leaderboards: pages and ranks of boards in the form of the API. */
export { listBoard, readBoardRank } from './leaderboards.ts';
export { BoardRank, Leaderboard } from './schemas.ts';
