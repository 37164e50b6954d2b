import { matchesETag } from '#platform/http/conditional.ts';
import { asksForPage, PAGE } from '#platform/http/pages/page.ts';
import { jsonOrPage, reply, route, stream } from '#platform/http/route.ts';
import { IMMUTABLE, REVALIDATE } from '../routes/cache-control.ts';
import { RoundPath } from '../schemas.ts';
import { FRESH_SEC, readCard } from './card/card-cache.ts';
import { replyRoundPage } from './page.ts';
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
  description:
    'A round of either kind and in any state: one or two sentences, prizes and winners, links, and the values of Open Graph tags. A client that prefers ' +
    '`text/html` in `Accept` gets the page of `/share/round/{id}` instead, and its errors as pages; every other client gets JSON.',
  params: RoundPath,
  returns: { 200: jsonOrPage(SharedRoundView) },
  fails: [404],
  cache: REVALIDATE,
  handler: async ({ app, params, ctx }) => {
    const isPage = asksForPage(ctx);
    const round = await readSharedRound(app.db, params.id);
    const decimals = await readDecimals(app);
    return isPage ? await replyRoundPage(app, ctx, round, decimals) : reply(200, summaryOf(app.config, round, decimals));
  },
});

export const getPage = route({
  method: 'get',
  path: '/share/round/{id}',
  auth: 'public',
  summary: 'The page of a round, to which posts lead',
  description:
    'An HTML page for people, with Open Graph tags for link previews. It is HTML for every client, because many programs that make previews send no ' +
    '`Accept` header. It needs no script.',
  params: RoundPath,
  returns: { 200: PAGE },
  fails: [404],
  cache: REVALIDATE,
  handler: async ({ app, params, ctx }) => replyRoundPage(app, ctx, await readSharedRound(app.db, params.id), await readDecimals(app)),
});

export const getLatest = route({
  method: 'get',
  path: '/social/latest',
  auth: 'public',
  summary: 'The latest chat round’s summary for sharing',
  description:
    'The chat round that closed last, drawn or not drawn yet; before the first one closes, the active one. Void rounds are excluded, and legacy rounds, because ' +
    'any wallet can open one.',
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
  load: 'costly',
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

export const socialRoundRoutes = [getRound, getPage, getLatest, getPost, getCard];
