import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { matchesETag } from '#platform/http/conditional.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { listEpochs, readEpoch } from '../epochs/epochs.ts';
import { leafFile } from '../epochs/leaf-file.ts';
import { readPointsFile } from '../epochs/points-file.ts';
import { readProof } from '../epochs/proofs.ts';
import { epochView } from '../present.ts';
import { LeavesQuery } from '../review/schemas.ts';
import { EpochPath, EpochsQuery, EpochView, EpochWalletPath, ProofView } from '../schemas.ts';

/** Cache-Control of responses that can change. */
const FRESH = 'no-cache';
/** Cache-Control of responses that never change. */
const FOREVER = 'public, max-age=31536000, immutable';

const getEpoch = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}',
  auth: 'public',
  summary: 'Read a reward epoch',
  description: 'Includes epochs that are being computed or imported.',
  params: EpochPath,
  returns: { 200: EpochView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => {
    const epoch = await readEpoch(app.db, Number(params.epoch));
    if (!epoch) throw fail(404, `epoch ${params.epoch} does not exist`);
    // A settled epoch never changes again, so clients may cache the response forever.
    return reply(200, epochView(epoch), epoch.status === 'settled' ? { 'Cache-Control': FOREVER } : {});
  },
});

const getEpochs = route({
  method: 'get',
  path: '/api/rewards/epochs',
  auth: 'public',
  summary: 'List all reward epochs in the order of their numbers',
  query: EpochsQuery,
  returns: { 200: z.array(EpochView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { epochs, total } = await listEpochs(app.reads, 'all', query);
    return reply(200, epochs.map(epochView), { 'X-Total-Count': String(total) });
  },
});

const getCommitted = route({
  method: 'get',
  path: '/api/rewards/epochs/committed',
  auth: 'public',
  summary: 'List epochs whose root is on the chain',
  description: 'Lists the epochs in the order of their numbers. Excludes epochs that were settled off-chain; includes expired epochs.',
  query: EpochsQuery,
  returns: { 200: z.array(EpochView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { epochs, total } = await listEpochs(app.reads, 'committed', query);
    return reply(200, epochs.map(epochView), { 'X-Total-Count': String(total) });
  },
});

const getProof = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/proof/{wallet}',
  auth: 'public',
  summary: 'Merkle proof of a wallet’s reward of an epoch',
  description:
    'leaf = SHA-256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet, 32 bytes ‖ amount u64 LE); node = SHA-256(min ‖ max); an odd node moves up unchanged. ' +
    'After the root of the epoch is on the chain, the response never changes, so it can be cached without a limit.',
  params: EpochWalletPath,
  returns: { 200: ProofView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => {
    const { proof, mayChange } = await readProof(app, Number(params.epoch), params.wallet);
    return reply(200, proof, mayChange ? {} : { 'Cache-Control': FOREVER });
  },
});

const getLeaves = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/leaves',
  auth: 'public',
  load: 'costly',
  summary: 'Download the leaves of an epoch as NDJSON',
  description:
    'The first line has the rules, the sums and the root of the epoch. Then follows one line `{ index, wallet, points, amount }` per wallet with points that is not excluded: first the leaves in tree order, ' +
    'then the unpaid wallets (index null, amount "0"). With this file every client can recompute the amounts and the root. The leaves of an allocation never change. ' +
    'Without `allocation`, the response has the allocation in force, which can be replaced until its root is signed; `/api/rewards/epoch/{epoch}/allocations` lists all allocations.',
  params: EpochPath,
  query: LeavesQuery,
  returns: { 200: stream('application/x-ndjson'), 304: null },
  fails: [404],
  handler: async ({ app, params, query, ctx }) => {
    const { etag, mayChange, open } = await leafFile(app, Number(params.epoch), query.allocation ?? null);
    const headers = { ETag: etag, 'Cache-Control': mayChange && query.allocation === undefined ? FRESH : FOREVER };
    if (matchesETag(ctx, etag)) return reply(304, null, headers);
    return reply(200, open(), headers);
  },
});

const getPoints = route({
  method: 'get',
  path: '/api/rewards/epoch/{epoch}/points',
  auth: 'public',
  load: 'costly',
  summary: 'Download the points of an epoch by wallet and source as NDJSON',
  description:
    'The first line has the type `coinop/points/1`, the epoch, the day, the rules, the number of wallets and the sum of their points. Then follows one line `{ wallet, points, sources }` per wallet with points, ' +
    'in ascending order of the addresses. `sources` has the points by source, in ascending order of the keys; their sum is `points`. A key is kind:reason, for scores kind:reason:gameId, for example `game:score:star-raiders`, `game:void:star-raiders`, `quest:quest` or `referral:referral`. ' +
    'The ETag is the SHA-256 of the file, which is `pointsHash` of the epoch and stands in a memo of the transaction that opens the epoch on the chain. The response never changes, so it can be cached without a limit. 404 for an import, which has no points.',
  params: EpochPath,
  returns: { 200: stream('application/x-ndjson'), 304: null },
  fails: [404],
  handler: async ({ app, params, ctx }) => {
    const { hash, bytes, open } = await readPointsFile(app, Number(params.epoch));
    const headers = { ETag: `"${hash}"`, 'Cache-Control': FOREVER };
    if (matchesETag(ctx, headers.ETag)) return reply(304, null, headers);
    // A HEAD request gets only the headers, so the file is not opened.
    const body = ctx.method === 'HEAD' ? () => undefined : await open();
    return reply(200, body, { ...headers, 'Content-Length': String(bytes) });
  },
});

export const epochRoutes = [getEpoch, getEpochs, getCommitted, getProof, getLeaves, getPoints];
