import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { readEntryProof } from '../proofs.ts';
import { notAvailable, readRoundStatus } from '../published.ts';
import { listFinalized, readNumbers, readPayouts, readWinners } from '../results.ts';
import { ALGORITHM, EntryPath, EntryProofView, FinalizedView, PayoutsOfRound, RootView, WinnerView, WinningNumbersView } from '../results-schemas.ts';
import type { RoundKind } from '../rows.ts';
import { RoundPath } from '../schemas.ts';
import { IMMUTABLE, REVALIDATE } from './cache-control.ts';
import { roundFileRoutes } from './files.ts';
import { getKeys } from './keys.ts';

const getRoot = route({
  method: 'get',
  path: '/chat/round/{id}/entries/root',
  auth: 'public',
  summary: 'The Merkle root over all entries of a chat round',
  description: 'Available when the entries are frozen; it never changes. The commitment on the chain names this root.',
  params: RoundPath,
  returns: { 200: RootView },
  fails: [404],
  cache: IMMUTABLE,
  handler: async ({ app, params }) => {
    const round = await readRoundStatus(app.db, 'chat', params.id);
    if (round.root === null) throw notAvailable(round, 'an entries root', 'when its entries are frozen');
    return reply(200, { root: round.root, count: round.entries, algorithm: ALGORITHM });
  },
});

const getProof = route({
  method: 'get',
  path: '/chat/round/{id}/entries/{entryId}/proof',
  auth: 'public',
  summary: 'The Merkle proof of an entry',
  description:
    'The leaf hash covers all fields of `entry` except `id`; `algorithm` of the root describes it. node = SHA-256(min ‖ max); an odd node moves up ' +
    'unchanged. The proof never changes.',
  params: EntryPath,
  returns: { 200: EntryProofView },
  fails: [404],
  cache: IMMUTABLE,
  handler: async ({ app, params }) => reply(200, await readEntryProof(app.db, 'chat', params.id, params.entryId)),
});

const getNumbers = route({
  method: 'get',
  path: '/chat/round/{id}/winning-numbers',
  auth: 'public',
  summary: 'The winning numbers of a finalized round, with their proof',
  params: RoundPath,
  returns: { 200: WinningNumbersView },
  fails: [404],
  cache: IMMUTABLE,
  handler: async ({ app, params }) => reply(200, await readNumbers(app.db, params.id)),
});

const getWinners = route({
  method: 'get',
  path: '/chat/round/{id}/winners',
  auth: 'public',
  summary: 'The winners of a finalized round',
  description: 'Ordered by place. There may be fewer winners than prizes, because an entry without a drawn number wins nothing.',
  params: RoundPath,
  returns: { 200: z.array(WinnerView) },
  fails: [404],
  cache: IMMUTABLE,
  handler: async ({ app, params }) => reply(200, await readWinners(app.db, 'chat', params.id)),
});

const payoutsOf = <const Path extends '/chat/round/{id}/payouts' | '/round/{id}/payouts'>(kind: RoundKind, path: Path) =>
  route({
    method: 'get',
    path,
    auth: 'public',
    summary: kind === 'chat' ? 'The payouts of a finalized chat round’s prizes' : 'The payout of a finalized legacy round’s prize',
    params: RoundPath,
    returns: { 200: PayoutsOfRound },
    fails: [404],
    cache: REVALIDATE,
    handler: async ({ app, params }) => reply(200, await readPayouts(app.db, kind, params.id)),
  });
export const getPayouts = payoutsOf('chat', '/chat/round/{id}/payouts');
const getLegacyPayouts = payoutsOf('legacy', '/round/{id}/payouts');

const getFinalized = route({
  method: 'get',
  path: '/chat/round/recent-finalized',
  auth: 'public',
  summary: 'List finalized chat rounds, newest first',
  query: PageQuery,
  returns: { 200: z.array(FinalizedView) },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app, query }) => {
    const { rounds, total } = await listFinalized(app.reads, query.limit, query.offset);
    return reply(200, rounds, { 'X-Total-Count': String(total) });
  },
});

export const roundResultRoutes = [...roundFileRoutes, getRoot, getProof, getNumbers, getWinners, getPayouts, getLegacyPayouts, getFinalized, getKeys];
