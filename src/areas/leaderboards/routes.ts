import { reply, route } from '#platform/http/route.ts';
import { boardOfGame, FRESH, globalStats, listBoard, periodStats, placeOn, questStats } from './leaderboards.ts';
import { BoardQuery, BoardRank, GameParams, GlobalStats, Leaderboard, PeriodQuery, PeriodStats, QuestStats, WhenQuery } from './schemas.ts';

const ORDER = 'Best first; wallets of the same score share a rank and are listed by address, descending.';

const globalBoard = route({
  method: 'get',
  path: '/leaderboard/global',
  auth: 'optional',
  summary: 'The global leaderboard',
  description: `The score is the composite of all regular points: games, quests and referrals. ${ORDER}`,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401],
  cache: FRESH,
  handler: async ({ app, query, wallet }) => await listBoard(app, 'global', query, wallet),
});

const globalStatsRoute = route({
  method: 'get',
  path: '/leaderboard/global/stats',
  auth: 'public',
  summary: 'What the global leaderboard amounts to',
  returns: { 200: GlobalStats },
  fails: [],
  cache: FRESH,
  handler: async ({ app }) => reply(200, await globalStats(app)),
});

const globalPeriodStats = route({
  method: 'get',
  path: '/leaderboard/global/period-stats',
  auth: 'public',
  summary: 'What one period of the global leaderboard amounts to',
  query: PeriodQuery,
  returns: { 200: PeriodStats },
  fails: [],
  cache: FRESH,
  handler: async ({ app, query }) => {
    const { body, headers } = await periodStats(app, query.period, query.at);
    return reply(200, body, headers);
  },
});

const globalRank = route({
  method: 'get',
  path: '/leaderboard/global/rank',
  auth: 'session',
  summary: 'The caller’s place on the global leaderboard',
  query: WhenQuery,
  returns: { 200: BoardRank },
  fails: [],
  handler: async ({ app, query, wallet }) => reply(200, await placeOn(app, 'global', query, wallet)),
});

const questBoard = route({
  method: 'get',
  path: '/leaderboard/quests',
  auth: 'optional',
  summary: 'The quest leaderboard',
  description: `The score is the quest point total: points from quests alone. ${ORDER}`,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401],
  cache: FRESH,
  handler: async ({ app, query, wallet }) => await listBoard(app, 'quests', query, wallet),
});

const questRank = route({
  method: 'get',
  path: '/leaderboard/quests/rank',
  auth: 'session',
  summary: 'The caller’s place on the quest leaderboard',
  description: 'The score is the caller’s quest point total.',
  query: WhenQuery,
  returns: { 200: BoardRank },
  fails: [],
  handler: async ({ app, query, wallet }) => reply(200, await placeOn(app, 'quests', query, wallet)),
});

const questStatsRoute = route({
  method: 'get',
  path: '/leaderboard/quests/stats',
  auth: 'public',
  summary: 'What the quest leaderboard amounts to',
  returns: { 200: QuestStats },
  fails: [],
  cache: FRESH,
  handler: async ({ app }) => reply(200, await questStats(app)),
});

const referralLeaderboard = route({
  method: 'get',
  path: '/game/referral/leaderboard',
  auth: 'optional',
  summary: 'Wallets by what their referrals earned them',
  description: `The score is the sum of the points that a wallet got for the scores of wallets that it referred. ${ORDER}`,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401],
  cache: FRESH,
  handler: async ({ app, query, wallet }) => await listBoard(app, 'referrals', query, wallet),
});

const gameLeaderboard = route({
  method: 'get',
  path: '/game/{id}/leaderboard',
  auth: 'optional',
  summary: 'A game’s leaderboard',
  description: `The score is each wallet’s best normalized score in the period, 0 to 10,000. ${ORDER}`,
  params: GameParams,
  query: BoardQuery,
  returns: { 200: Leaderboard },
  fails: [401, 404],
  cache: FRESH,
  handler: async ({ app, params, query, wallet }) => await listBoard(app, await boardOfGame(app, params.id), query, wallet),
});

const gameRank = route({
  method: 'get',
  path: '/game/{id}/rank',
  auth: 'session',
  summary: 'The caller’s place on a game’s leaderboard',
  params: GameParams,
  query: WhenQuery,
  returns: { 200: BoardRank },
  fails: [404],
  handler: async ({ app, params, query, wallet }) => reply(200, await placeOn(app, await boardOfGame(app, params.id), query, wallet)),
});

/** Reading the boards. */
export const leaderboardRoutes = {
  public: [globalBoard, globalStatsRoute, globalPeriodStats, questBoard, questStatsRoute, referralLeaderboard, gameLeaderboard],
  session: [globalRank, questRank, gameRank],
};
