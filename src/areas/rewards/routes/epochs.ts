import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { hasVersion } from '#platform/http/conditional.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { listEpochs, readEpoch } from '../epochs.ts';
import { leafFile } from '../leaves.ts';
import { epochView } from '../present.ts';
import { readProof } from '../proofs.ts';
import { EpochPath, EpochsQuery, EpochView, EpochWalletPath, ProofView } from '../schemas.ts';

/** What may change is asked for anew each time; what never does is kept. */
const FRESH = 'no-cache';
const FOREVER = 'public, max-age=31536000, immutable';

const getEpoch = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}',
  auth: 'public',
  summary: 'A reward epoch',
  description: 'Here is also how an epoch stands that is being computed or imported.',
  params: EpochPath,
  returns: { 200: EpochView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => {
    const epoch = await readEpoch(app.db, Number(params.epoch));
    if (!epoch) throw fail(404, `there is no epoch ${params.epoch}`);
    // Settled is the last thing that an epoch becomes.
    return reply(200, epochView(epoch), epoch.status === 'settled' ? { 'Cache-Control': FOREVER } : {});
  },
});

const getEpochs = route({
  method: 'get',
  path: '/api/rewards/epochs',
  auth: 'public',
  summary: 'All reward epochs, by number',
  query: EpochsQuery,
  returns: { 200: z.array(EpochView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { epochs, total } = await listEpochs(app.db, 'all', query);
    return reply(200, epochs.map(epochView), { 'X-Total-Count': String(total) });
  },
});

const getCommitted = route({
  method: 'get',
  path: '/api/rewards/epochs/committed',
  auth: 'public',
  summary: 'Epochs whose root is on the chain',
  description: 'By number. Those that were settled off-chain are not among them; those whose time is over have the status expired.',
  query: EpochsQuery,
  returns: { 200: z.array(EpochView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { epochs, total } = await listEpochs(app.db, 'committed', query);
    return reply(200, epochs.map(epochView), { 'X-Total-Count': String(total) });
  },
});

const getProof = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/proof/{wallet}',
  auth: 'public',
  summary: 'What proves a wallet’s reward of an epoch',
  description:
    'leaf = SHA-256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet, 32 bytes ‖ amount u64 LE); node = SHA-256(min ‖ max); an odd node moves up as it is. ' +
    'It never changes, and may be kept for ever.',
  params: EpochWalletPath,
  returns: { 200: ProofView },
  fails: [404],
  cache: FOREVER,
  handler: async ({ app, params }) => reply(200, await readProof(app, Number(params.epoch), params.wallet)),
});

const getLeaves = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/leaves',
  auth: 'public',
  summary: 'All that an epoch was made of',
  description:
    'NDJSON. The first line has the rules, the sums and the root; then comes every wallet with points, `{ index, wallet, points, amount }`: the leaves in the order of the tree, ' +
    'then those that are not paid (index null, amount "0"). From it anybody can compute every amount and the root again. It never changes, and may be kept for ever.',
  params: EpochPath,
  returns: { 200: stream('application/x-ndjson'), 304: null },
  fails: [404],
  handler: async ({ app, params, ctx }) => {
    const { etag, open } = await leafFile(app, Number(params.epoch));
    const headers = { ETag: etag, 'Cache-Control': FOREVER };
    if (hasVersion(ctx, etag)) return reply(304, null, headers);
    return reply(200, open(), headers);
  },
});

export const epochRoutes = [getEpoch, getEpochs, getCommitted, getProof, getLeaves];
