import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { inTurn } from '#platform/db/turns.ts';
import { reply, route } from '#platform/http/route.ts';
import { bindWallet } from './bind.ts';
import { createLink, findOrCreateLink, MAX_LINKS, type ReferralLink, urlOf } from './links.ts';
import { getHome } from './page.ts';
import { BindRequest, ReferralBinding, ReferralLinkView, ReferralStats, ReferralSummary, ReferredWallet } from './schemas.ts';
import { SHARE_PERCENT } from './shares.ts';
import { readReferred, readStats, readSummary } from './stats.ts';

const present = (app: App, { code, createdAt }: ReferralLink) => ({ code, url: urlOf(app.config, code), createdAt });

const getLink = route({
  method: 'get',
  path: '/api/referral/link',
  auth: 'session',
  summary: 'Read the caller’s referral link',
  description: 'Returns the newest link. Creates one when the caller has none.',
  returns: { 200: ReferralLinkView },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, present(app, await findOrCreateLink(app, wallet))),
});

const postLink = route({
  method: 'post',
  path: '/api/referral/link',
  auth: 'session',
  summary: 'Create a new referral link',
  description: `The new link becomes the caller’s link. The codes of older links stay valid. At most ${MAX_LINKS} links per wallet.`,
  returns: { 201: ReferralLinkView },
  fails: [409],
  idempotent: true,
  handler: ({ app, wallet, once }) => once(async (tx) => reply(201, present(app, await createLink(tx, wallet)))),
});

const postBind = route({
  method: 'post',
  path: '/api/referral/bind',
  auth: 'session',
  summary: 'Bind the caller to its referrer',
  description:
    'A binding is permanent: a second one is refused with 409, with any code. The referrer must not be the caller (400), a wallet that the caller referred ' +
    `directly or indirectly (409), or a banned wallet (409). The referrer gets ${SHARE_PERCENT} % of the points of each of the caller’s scores, rounded down, ` +
    'within a daily cap. The first score that counts is the caller’s first score in a verified game.',
  body: BindRequest,
  returns: { 201: ReferralBinding },
  fails: [403, 404, 409],
  idempotent: true,
  // Bindings share one lock.
  handler: ({ app, wallet, body, once }) => inTurn(app, 'referrals', () => once(async (tx) => reply(201, await bindWallet(tx, wallet, body.code)))),
});

const getSummary = route({
  method: 'get',
  path: '/api/referral/summary',
  auth: 'session',
  summary: 'Read the totals of the caller’s referrals',
  returns: { 200: ReferralSummary },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readSummary(app, wallet)),
});

const getStats = route({
  method: 'get',
  path: '/api/referral/stats',
  auth: 'session',
  summary: 'Read statistics of the caller’s links and referrals',
  description: 'Points count on the UTC day on which the referrer received them, normally within a second after the score.',
  returns: { 200: ReferralStats },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readStats(app, wallet)),
});

const getReferred = route({
  method: 'get',
  path: '/api/referral/referred',
  auth: 'session',
  summary: 'List the wallets that the caller referred, newest first',
  query: PageQuery,
  returns: { 200: z.array(ReferredWallet) },
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const { referred, total } = await readReferred(app.db, wallet, query.limit, query.offset);
    return reply(200, referred, { 'X-Total-Count': String(total) });
  },
});

export const referralRoutes = { public: [getHome], session: [getLink, postLink, postBind, getSummary, getStats, getReferred], admin: [] };
