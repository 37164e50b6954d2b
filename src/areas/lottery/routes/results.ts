import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { readEntryProof } from '../proofs.ts';
import { glanceAt, notThere } from '../published.ts';
import { listFinalized, readNumbers, readPayouts, readWinners } from '../results.ts';
import { ALGORITHM, EntryPath, EntryProofView, FinalizedView, PayoutsOfRound, RootView, WinnerView, WinningNumbersView } from '../results-schemas.ts';
import { RoundPath } from '../schemas.ts';
import { FOREVER, FRESH, roundFileRoutes } from './files.ts';
import { getKeys } from './keys.ts';

const getRoot = route({
  method: 'get',
  path: '/chat/round/{id}/entries/root',
  auth: 'public',
  summary: 'The Merkle root over all entries of a chat round',
  description: 'It exists as soon as the entries are frozen, and never changes: it is what the commitment on the chain names.',
  params: RoundPath,
  returns: { 200: RootView },
  fails: [404],
  cache: FOREVER,
  handler: async ({ app, params }) => {
    const round = await glanceAt(app.db, 'chat', params.id);
    if (round.root === null) throw notThere(round, 'an entries root', 'as soon as its entries are frozen');
    return reply(200, { root: round.root, count: round.entries, algorithm: ALGORITHM });
  },
});

const getProof = route({
  method: 'get',
  path: '/chat/round/{id}/entries/{entryId}/proof',
  auth: 'public',
  summary: 'What proves that an entry is under its round’s root',
  description:
    'leaf as `algorithm` of the root says, of all fields of `entry` but its id; node = SHA-256(min ‖ max); an odd node moves up as it is. It never changes.',
  params: EntryPath,
  returns: { 200: EntryProofView },
  fails: [404],
  cache: FOREVER,
  handler: async ({ app, params }) => reply(200, await readEntryProof(app.db, 'chat', params.id, params.entryId)),
});

const getNumbers = route({
  method: 'get',
  path: '/chat/round/{id}/winning-numbers',
  auth: 'public',
  summary: 'The winning numbers of a finalized round, and how they came about',
  params: RoundPath,
  returns: { 200: WinningNumbersView },
  fails: [404],
  cache: FOREVER,
  handler: async ({ app, params }) => reply(200, await readNumbers(app.db, params.id)),
});

const getWinners = route({
  method: 'get',
  path: '/chat/round/{id}/winners',
  auth: 'public',
  summary: 'The winners of a finalized round',
  description: 'First place first. There may be fewer than prizes: entries of which no number was drawn win nothing.',
  params: RoundPath,
  returns: { 200: z.array(WinnerView) },
  fails: [404],
  cache: FOREVER,
  handler: async ({ app, params }) => reply(200, await readWinners(app.db, params.id)),
});

const getPayouts = route({
  method: 'get',
  path: '/chat/round/{id}/payouts',
  auth: 'public',
  summary: 'How the prizes of a finalized round are paid',
  params: RoundPath,
  returns: { 200: PayoutsOfRound },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => reply(200, await readPayouts(app.db, params.id)),
});

const getFinalized = route({
  method: 'get',
  path: '/chat/round/recent-finalized',
  auth: 'public',
  summary: 'Chat rounds that were drawn, newest first',
  query: PageQuery,
  returns: { 200: z.array(FinalizedView) },
  fails: [],
  cache: FRESH,
  handler: async ({ app, query }) => {
    const { rounds, total } = await listFinalized(app.db, query.limit, query.offset);
    return reply(200, rounds, { 'X-Total-Count': String(total) });
  },
});

export const roundResultRoutes = {
  public: [...roundFileRoutes, getRoot, getProof, getNumbers, getWinners, getPayouts, getFinalized, getKeys],
  session: [],
  admin: [],
};
