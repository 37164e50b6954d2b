import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { listClaimable } from '../claims/claimable.ts';
import { poolToday, projectReward } from '../projection/today.ts';
import { ClaimableQuery, ClaimableView, PoolView, ProjectedView, WalletPath } from '../schemas.ts';

const getClaimable = route({
  method: 'get',
  path: '/api/rewards/wallet/{wallet}/claimable',
  auth: 'public',
  summary: 'Unclaimed rewards of a wallet, of all epochs',
  description:
    'Lists the rewards in the order of their epochs, each with the status claimable, upcoming (not on the chain yet) or settled (off-chain). Excludes claimed rewards and expired epochs.',
  params: WalletPath,
  query: ClaimableQuery,
  returns: { 200: z.array(ClaimableView) },
  fails: [],
  handler: async ({ app, params, query }) => {
    const { rewards, total } = await listClaimable(app.db, 'all', params.wallet, query);
    return reply(200, rewards, { 'X-Total-Count': String(total) });
  },
});

const getClaimableEpochs = route({
  method: 'get',
  path: '/api/rewards/wallet/{wallet}/claimable-epochs',
  auth: 'public',
  summary: 'Unclaimed rewards of a wallet, without epochs settled off-chain',
  description:
    'Lists the rewards in the order of their epochs, each with the status claimable or upcoming. Excludes claimed rewards and expired epochs.',
  params: WalletPath,
  query: ClaimableQuery,
  returns: { 200: z.array(ClaimableView) },
  fails: [],
  handler: async ({ app, params, query }) => {
    const { rewards, total } = await listClaimable(app.db, 'unsettled', params.wallet, query);
    return reply(200, rewards, { 'X-Total-Count': String(total) });
  },
});

const getProjected = route({
  method: 'get',
  path: '/api/rewards/wallet/{wallet}/projected',
  auth: 'public',
  summary: 'Projected reward of a wallet if the day ended now',
  description:
    'Uses the formula of the final computation. The points of the wallet are current; the points of the other wallets were counted at the time asOf. The amount is 0 for a wallet that is banned or does not meet the conditions in the reward rules.',
  params: WalletPath,
  returns: { 200: ProjectedView },
  fails: [],
  handler: async ({ app, params }) => reply(200, await projectReward(app, params.wallet)),
});

const getPool = route({
  method: 'get',
  path: '/api/rewards/pool/today',
  auth: 'public',
  summary: 'Today’s pool and its projected distribution',
  returns: { 200: PoolView },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app }) => reply(200, await poolToday(app)),
});

export const walletRoutes = [getClaimable, getClaimableEpochs, getProjected, getPool];
