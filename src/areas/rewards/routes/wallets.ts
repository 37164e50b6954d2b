import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { listClaimable } from '../claimable.ts';
import { poolToday, projectedFor } from '../projected.ts';
import { ClaimableQuery, ClaimableView, PoolView, ProjectedView, WalletPath } from '../schemas.ts';

const getClaimable = route({
  method: 'get',
  path: '/api/rewards/wallet/{wallet}/claimable',
  auth: 'public',
  summary: 'A wallet’s rewards that it has not claimed, of all epochs',
  description: 'By epoch, unless they have expired. Those that were settled off-chain are among them, with that status.',
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
  summary: 'A wallet’s claimable epochs, without those settled off-chain',
  description: 'By epoch, unless they have expired.',
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
  summary: 'What a wallet would get if the day ended now',
  description:
    'By the function that will decide it. The wallet’s own points are those of this moment, the others’ may be a little older: asOf says of when.',
  params: WalletPath,
  returns: { 200: ProjectedView },
  fails: [],
  handler: async ({ app, params }) => reply(200, await projectedFor(app, params.wallet)),
});

const getPool = route({
  method: 'get',
  path: '/api/rewards/pool/today',
  auth: 'public',
  summary: 'Today’s pool, and how it would be spread',
  returns: { 200: PoolView },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app }) => reply(200, await poolToday(app)),
});

export const walletRoutes = [getClaimable, getClaimableEpochs, getProjected, getPool];
