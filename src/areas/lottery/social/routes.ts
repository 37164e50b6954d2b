import { hasVersion } from '#platform/http/conditional.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { RoundPath } from '../schemas.ts';
import { FRESH_SEC, readCard } from './card/card-cache.ts';
import { postOf } from './post.ts';
import { readLatest, readShared } from './rounds.ts';
import { RoundPostView, SharedRoundView } from './schemas.ts';
import { summaryOf } from './summary.ts';
import { readDecimals } from './units.ts';

const FRESH = 'no-cache';
const SHORT = `public, max-age=${FRESH_SEC}`;
const FOREVER = 'public, max-age=31536000, immutable';

export const getRound = route({
  method: 'get',
  path: '/social/round/{id}',
  auth: 'public',
  summary: 'A round, as it is shared',
  description:
    'A round of either kind and in any state: one or two sentences, what it comes to, where to look, and what a page puts into its Open Graph tags.',
  params: RoundPath,
  returns: { 200: SharedRoundView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => {
    const round = await readShared(app.db, params.id);
    return reply(200, summaryOf(app.config, round, await readDecimals(app)));
  },
});

export const getLatest = route({
  method: 'get',
  path: '/social/latest',
  auth: 'public',
  summary: 'The latest chat round, as it is shared',
  description:
    'The one that was drawn last; before the first draw, the one that is active. Legacy rounds, which anybody may open, are not among them.',
  returns: { 200: SharedRoundView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app }) => {
    const round = await readLatest(app.db);
    return reply(200, summaryOf(app.config, round, await readDecimals(app)));
  },
});

export const getPost = route({
  method: 'get',
  path: '/social/round/{id}/post',
  auth: 'public',
  summary: 'A round as a post',
  description: 'Text that X takes, with the link in it, and the picture to attach. A long title is cut.',
  params: RoundPath,
  returns: { 200: RoundPostView },
  fails: [404],
  cache: FRESH,
  handler: async ({ app, params }) => {
    const round = await readShared(app.db, params.id);
    return reply(200, postOf(app.config, round, await readDecimals(app)));
  },
});

export const getCard = route({
  method: 'get',
  path: '/social/round/{id}/card.png',
  auth: 'public',
  summary: 'The card of a round',
  description: `A picture of 1200 × 630 to share. That of a finalized or void round never changes; that of another may be ${FRESH_SEC} seconds old.`,
  params: RoundPath,
  returns: { 200: stream('image/png'), 304: null },
  fails: [404],
  handler: async ({ app, params, ctx }) => {
    const { png, etag, isFinal } = await readCard(app, params.id);
    const headers = { ETag: etag, 'Cache-Control': isFinal ? FOREVER : SHORT };
    return hasVersion(ctx, etag) ? reply(304, null, headers) : reply(200, png, headers);
  },
});

export const socialRoundRoutes = { public: [getRound, getLatest, getPost, getCard], session: [], admin: [] };
