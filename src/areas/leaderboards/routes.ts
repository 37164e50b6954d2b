import { reply, route } from '#platform/http/route.ts';
import { boardOfGame, globalStats, listBoard, periodStats, questStats, REVALIDATE, readBoardRank } from './leaderboards.ts';
import { BoardQuery, BoardRank, GameParams, GlobalStats, Leaderboard, PeriodQuery, PeriodStats, QuestStats, RankQuery } from './schemas.ts';

const ORDER = 'Best first. Wallets with the same score share a rank and are sorted by address, descending.';

const globalBoard = route({
  method: 'get',
  path: '/leaderboard/global',
  auth: 'optional',
  summary: 'Read the global leaderboard',
  description: `The score is the sum of all regular points from games, quests and referrals. ${ORDER}`,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401],
  cache: REVALIDATE,
  handler: async ({ app, query, wallet }) => await listBoard(app, 'global', query, wallet),
});

const globalStatsRoute = route({
  method: 'get',
  path: '/leaderboard/global/stats',
  auth: 'public',
  summary: 'Read the stats of the global leaderboard',
  returns: { 200: GlobalStats },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app }) => reply(200, await globalStats(app)),
});

const globalPeriodStats = route({
  method: 'get',
  path: '/leaderboard/global/period-stats',
  auth: 'public',
  summary: 'Read the stats of one period of the global leaderboard',
  query: PeriodQuery,
  returns: { 200: PeriodStats },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app, query }) => {
    const { body, headers } = await periodStats(app, query);
    return reply(200, body, headers);
  },
});

const globalRank = route({
  method: 'get',
  path: '/leaderboard/global/rank',
  auth: 'session',
  summary: 'Read the rank of the caller or another wallet on the global leaderboard',
  query: RankQuery,
  returns: { 200: BoardRank },
  fails: [],
  handler: async ({ app, query, wallet }) => reply(200, await readBoardRank(app, 'global', query, query.wallet ?? wallet)),
});

const questBoard = route({
  method: 'get',
  path: '/leaderboard/quests',
  auth: 'optional',
  summary: 'Read the quest leaderboard',
  description: `The score is the sum of a wallet’s quest points. ${ORDER}`,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401],
  cache: REVALIDATE,
  handler: async ({ app, query, wallet }) => await listBoard(app, 'quests', query, wallet),
});

const questRank = route({
  method: 'get',
  path: '/leaderboard/quests/rank',
  auth: 'session',
  summary: 'Read the rank of the caller or another wallet on the quest leaderboard',
  description: 'The score is the sum of the wallet’s quest points.',
  query: RankQuery,
  returns: { 200: BoardRank },
  fails: [],
  handler: async ({ app, query, wallet }) => reply(200, await readBoardRank(app, 'quests', query, query.wallet ?? wallet)),
});

const questStatsRoute = route({
  method: 'get',
  path: '/leaderboard/quests/stats',
  auth: 'public',
  summary: 'Read the stats of the quest leaderboard',
  returns: { 200: QuestStats },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app }) => reply(200, await questStats(app)),
});

const referralLeaderboard = route({
  method: 'get',
  path: '/game/referral/leaderboard',
  auth: 'optional',
  summary: 'Read the referral leaderboard',
  description: `The score is the sum of the points that a wallet received for scores of the wallets that it referred. ${ORDER}`,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401],
  cache: REVALIDATE,
  handler: async ({ app, query, wallet }) => await listBoard(app, 'referrals', query, wallet),
});

const referralRank = route({
  method: 'get',
  path: '/game/referral/rank',
  auth: 'session',
  summary: 'Read the rank of the caller or another wallet on the referral leaderboard',
  description: 'The score is the sum of the points that the wallet received for scores of the wallets that it referred.',
  query: RankQuery,
  returns: { 200: BoardRank },
  fails: [],
  handler: async ({ app, query, wallet }) => reply(200, await readBoardRank(app, 'referrals', query, query.wallet ?? wallet)),
});

const gameLeaderboard = route({
  method: 'get',
  path: '/game/{id}/leaderboard',
  auth: 'optional',
  summary: 'Read a game’s leaderboard',
  description: `The score is each wallet’s best normalized score in the period, 0 to 10,000. ${ORDER}`,
  params: GameParams,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401, 404],
  cache: REVALIDATE,
  handler: async ({ app, params, query, wallet }) => await listBoard(app, await boardOfGame(app, params.id), query, wallet),
});

const gameRank = route({
  method: 'get',
  path: '/game/{id}/rank',
  auth: 'session',
  summary: 'Read the rank of the caller or another wallet on a game’s leaderboard',
  params: GameParams,
  query: RankQuery,
  returns: { 200: BoardRank },
  fails: [404],
  handler: async ({ app, params, query, wallet }) =>
    reply(200, await readBoardRank(app, await boardOfGame(app, params.id), query, query.wallet ?? wallet)),
});

/** The endpoints of leaderboards, grouped by the callers that may use them. */
export const leaderboardRoutes = {
  public: [globalBoard, globalStatsRoute, globalPeriodStats, questBoard, questStatsRoute, referralLeaderboard, gameLeaderboard],
  session: [globalRank, questRank, referralRank, gameRank],
};
