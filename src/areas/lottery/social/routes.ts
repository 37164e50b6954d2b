import { matchesETag } from '#platform/http/conditional.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { IMMUTABLE, REVALIDATE } from '../routes/cache-control.ts';
import { RoundPath } from '../schemas.ts';
import { FRESH_SEC, readCard } from './card/card-cache.ts';
import { postOf } from './post.ts';
import { readLatestSharedRound, readSharedRound } from './rounds.ts';
import { RoundPostView, SharedRoundView } from './schemas.ts';
import { summaryOf } from './summary.ts';
import { readDecimals } from './units.ts';

const SHORT = `public, max-age=${FRESH_SEC}`;

export const getRound = route({
  method: 'get',
  path: '/social/round/{id}',
  auth: 'public',
  summary: 'A round’s summary for sharing',
  description: 'A round of either kind and in any state: one or two sentences, prizes and winners, links, and the values of Open Graph tags.',
  params: RoundPath,
  returns: { 200: SharedRoundView },
  fails: [404],
  cache: REVALIDATE,
  handler: async ({ app, params }) => {
    const round = await readSharedRound(app.db, params.id);
    return reply(200, summaryOf(app.config, round, await readDecimals(app)));
  },
});

export const getLatest = route({
  method: 'get',
  path: '/social/latest',
  auth: 'public',
  summary: 'The latest chat round’s summary for sharing',
  description:
    'The most recently drawn chat round; before the first draw, the active one. Legacy rounds are excluded, because any wallet can open one.',
  returns: { 200: SharedRoundView },
  fails: [404],
  cache: REVALIDATE,
  handler: async ({ app }) => {
    const round = await readLatestSharedRound(app.db);
    return reply(200, summaryOf(app.config, round, await readDecimals(app)));
  },
});

export const getPost = route({
  method: 'get',
  path: '/social/round/{id}/post',
  auth: 'public',
  summary: 'A round as a post',
  description: 'A text within the limits of X, including the link, and the picture to attach. A long title is shortened.',
  params: RoundPath,
  returns: { 200: RoundPostView },
  fails: [404],
  cache: REVALIDATE,
  handler: async ({ app, params }) => {
    const round = await readSharedRound(app.db, params.id);
    return reply(200, postOf(app.config, round, await readDecimals(app)));
  },
});

export const getCard = route({
  method: 'get',
  path: '/social/round/{id}/card.png',
  auth: 'public',
  summary: 'The card of a round',
  description: `A PNG of 1200 × 630 pixels for sharing. The card of a finalized or void round never changes; any other card is at most ${FRESH_SEC} seconds old.`,
  params: RoundPath,
  returns: { 200: stream('image/png'), 304: null },
  fails: [404],
  handler: async ({ app, params, ctx }) => {
    const { png, etag, isFinal } = await readCard(app, params.id);
    const headers = { ETag: etag, 'Cache-Control': isFinal ? IMMUTABLE : SHORT };
    return matchesETag(ctx, etag) ? reply(304, null, headers) : reply(200, png, headers);
  },
});

export const socialRoundRoutes = [getRound, getLatest, getPost, getCard];
