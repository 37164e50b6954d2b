import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { type Epoch, readEpoch } from '../epochs/epochs.ts';
import { epochView } from '../present.ts';
import { EpochPath, EpochView, EpochWalletPath } from '../schemas.ts';
import { type Allocation, listAllocations } from './allocations.ts';
import { listExclusions } from './exclusions.ts';
import { excludeWallets, readmitWallet, releaseEpoch } from './review.ts';
import { AllocationView, ExclusionsQuery, ExclusionsRequest, ExclusionView } from './schemas.ts';

async function findEpoch(app: App, number: string): Promise<Epoch> {
  const epoch = await readEpoch(app.db, Number(number));
  if (!epoch) throw fail(404, `epoch ${number} does not exist`);
  return epoch;
}

const presentAllocation = ({ excluded, readmitted, ...allocation }: Allocation): z.input<typeof AllocationView> => ({
  ...allocation,
  reason: allocation.allocation === 1 ? 'the epoch was computed' : `wallets excluded: ${excluded}; wallets readmitted: ${readmitted}`,
});

export const getAllocations = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/allocations',
  auth: 'public',
  summary: 'List the allocations of an epoch',
  description:
    'The first allocation comes first; the last one is in force. `/api/rewards/epoch/{epoch}/leaves?allocation=1` has the leaves of the first one. The list is empty while the epoch is being computed.',
  params: EpochPath,
  query: PageQuery,
  returns: { 200: z.array(AllocationView) },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, params, query }) => {
    const { epoch, allocation, status } = await findEpoch(app, params.epoch);
    const allocations = await listAllocations(app.db, epoch, query);
    return reply(200, allocations.map(presentAllocation), { 'X-Total-Count': String(status === 'computing' ? 0 : allocation) });
  },
});

export const getExclusions = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/exclusions',
  auth: 'public',
  summary: 'List the wallets that are excluded from an epoch',
  description:
    'Ordered by address. An excluded wallet has no leaf, and its points are not counted. A wallet that is excluded for several causes is listed once for each of them. ' +
    'Without `allocation`, the list also has the changes that the next allocation will include.',
  params: EpochPath,
  query: ExclusionsQuery,
  returns: { 200: z.array(ExclusionView) },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, params, query: { allocation, ...page } }) => {
    const found = await findEpoch(app, params.epoch);
    const latest = found.allocation + (found.allocationPending ? 1 : 0);
    const { exclusions, total } = await listExclusions(app.db, { epoch: found.epoch, allocation: allocation ?? latest, ...page });
    return reply(200, exclusions, { 'X-Total-Count': String(total) });
  },
});

const CLOSED = 'Fails with 409 when the transaction with the root was signed, and for an epoch that was imported, is being computed or settled.';

export const postExclusions = route({
  method: 'post',
  path: '/admin/rewards/epoch/{epoch}/exclusions',
  auth: { admin: 'money' },
  summary: 'Exclude wallets from an epoch',
  description: `The allocation is computed anew without these wallets; their shares go to the other wallets by the formula. The root is not signed before that. The reason is public. Wallets that an operator excluded before keep their reason. ${CLOSED}`,
  params: EpochPath,
  body: ExclusionsRequest,
  returns: { 202: EpochView },
  fails: [404, 409],
  handler: async ({ app, params, body, admin }) => {
    await app.tx((tx) => excludeWallets(tx, Number(params.epoch), body.wallets, body.reason, admin));
    return reply(202, epochView(await findEpoch(app, params.epoch)));
  },
});

export const deleteExclusion = route({
  method: 'delete',
  path: '/admin/rewards/epoch/{epoch}/exclusions/{wallet}',
  auth: { admin: 'money' },
  summary: 'Readmit a wallet that an operator excluded from an epoch',
  description: `The allocation is computed anew. A wallet that is also excluded by its ban or by a rule stays excluded. ${CLOSED}`,
  params: EpochWalletPath,
  returns: { 202: EpochView },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await app.tx((tx) => readmitWallet(tx, Number(params.epoch), params.wallet));
    return reply(202, epochView(await findEpoch(app, params.epoch)));
  },
});

export const postRelease = route({
  method: 'post',
  path: '/admin/rewards/epoch/{epoch}/release',
  auth: { admin: 'money' },
  summary: 'End the review of an epoch now',
  description: `The root is signed as soon as the allocation includes all exclusions. Idempotent while the root is not signed. ${CLOSED}`,
  params: EpochPath,
  returns: { 200: EpochView },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await app.tx((tx) => releaseEpoch(tx, Number(params.epoch)));
    return reply(200, epochView(await findEpoch(app, params.epoch)));
  },
});

export const reviewRoutes = {
  public: [getAllocations, getExclusions],
  admin: [postExclusions, deleteExclusion, postRelease],
};
