import type { Readable } from 'node:stream';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { SIMULATION_LIMITS } from '#lib/replay/simulation.ts';
import { Count, Id, Slug, Wallet } from '#lib/scalars.ts';
import { matchesETag } from '#platform/http/conditional.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { findGame } from '../games/registry.ts';
import { listRefusals, readReplay } from '../replays/published.ts';
import { ReplayView, SimulationHash, SimulationQuery, SimulationReceipt } from '../replays/schemas.ts';
import { loadSimulation, storeSimulation } from '../replays/simulations.ts';
import { GamePath } from '../schemas.ts';
import { readVisibleScore } from '../scores/own-scores.ts';

const WASM = 'application/wasm';
/** Cache-Control of a module, which never changes. */
const FOREVER = 'public, max-age=31536000, immutable';

const putSimulation = route({
  method: 'put',
  path: '/admin/games/{id}/simulation',
  auth: { admin: 'content' },
  load: 'upload',
  summary: 'Upload the simulation of a game',
  description:
    'A WebAssembly module that exports `start`, `tick` and `score` and has no imports (docs/replays.md). The service adds metering, stores the module under its hash, and never changes or deletes it. ' +
    'The upload does not change the game: name the hash in `simulation` of `PUT /admin/games/{id}`. The same module can have one set of limits only: 409 with other limits.',
  params: GamePath,
  query: SimulationQuery,
  body: stream(WASM, SIMULATION_LIMITS.bytes),
  returns: { 200: SimulationReceipt },
  fails: [404, 409],
  handler: async ({ app, params, query, body, admin }) => {
    if (!(await findGame(app, params.id))) throw fail(404, 'no such game');
    const source = await readAll(body);
    const simulation = await app.tx((tx) => storeSimulation(tx, source, query, admin));
    return reply(200, { ...simulation, path: `/arcade/simulation/${simulation.hash}` });
  },
});

/** Reads a body. The HTTP layer limits its size. */
async function readAll(body: Readable): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    if (!Buffer.isBuffer(chunk)) throw new Error('the body stream must yield buffers');
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

const getSimulation = route({
  method: 'get',
  path: '/arcade/simulation/{hash}',
  auth: 'public',
  summary: 'Download a simulation',
  description: 'The WebAssembly module whose SHA-256 is `hash`. Clients play with this module, and the service runs replays with it.',
  params: z.strictObject({ hash: SimulationHash.meta({ description: 'SHA-256 of the simulation, as `GET /config/games` lists it.' }) }),
  returns: { 200: stream(WASM), 304: null },
  fails: [404],
  handler: async ({ app, params, ctx }) => {
    const found = await loadSimulation(app, params.hash);
    if (!found) throw fail(404, 'no such simulation');
    const headers = { ETag: `"${params.hash}"`, 'Cache-Control': FOREVER };
    return matchesETag(ctx, headers.ETag) ? reply(304, null, headers) : reply(200, found.module, headers);
  },
});

const getReplay = route({
  method: 'get',
  path: '/arcade/score/{id}/replay',
  auth: 'optional',
  summary: 'Read the replay of a score',
  description:
    'The seed, the input log and the simulation of the play, with which every client can compute the score again. Visible to the same callers as the score. ' +
    '404 also for scores of games without replays, and for replays that are older than `REPLAY_DAYS` and not of a personal best.',
  params: z.strictObject({ id: Id.meta({ description: 'The score’s id.' }) }),
  returns: { 200: ReplayView },
  fails: [404],
  handler: async ({ app, params, wallet }) => {
    const score = await readVisibleScore(app.db, params.id, wallet);
    const replay = score && (await readReplay(app, params.id));
    if (!replay) throw fail(404, 'no such replay');
    return reply(200, replay);
  },
});

const RefusalView = z
  .strictObject({
    wallet: Wallet,
    gameId: Slug,
    day: Count.meta({ description: 'UTC day, days since 1970-01-01.', example: 20_780 }),
    count: Count.meta({ example: 3 }),
    reason: z.string().meta({ description: 'Reason of the latest refusal.', example: 'score must be the score of the replay' }),
  })
  .meta({ id: 'ReplayRefusal' });

const getRefusals = route({
  method: 'get',
  path: '/admin/replays/refused',
  auth: { admin: 'moderation' },
  summary: 'Count refused replays by wallet, game and day',
  description: 'Scores that differed from their replays, and replays that broke a rule of their game. Latest day first.',
  query: PageQuery.extend({ wallet: Wallet.optional().meta({ description: 'Only this wallet.' }) }),
  returns: { 200: z.array(RefusalView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { rows, total } = await listRefusals(app, query);
    return reply(200, rows, { 'X-Total-Count': String(total) });
  },
});

export const replayRoutes = { public: [getSimulation, getReplay], admin: [putSimulation, getRefusals] };
