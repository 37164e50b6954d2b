import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { bindWallet } from './bind.ts';
import { SHARE_PERCENT } from './consume.ts';
import { findOrMakeLink, MOST_LINKS, makeLink, type ReferralLink, urlOf } from './links.ts';
import { BindRequest, ReferralBinding, ReferralLinkView, ReferralStats, ReferralSummary, ReferredWallet } from './schemas.ts';
import { readReferred, readStats, readSummary } from './stats.ts';

const present = (app: App, { code, createdAt }: ReferralLink) => ({ code, url: urlOf(app.config.publicUrl, code), createdAt });

export const getLink = route({
  method: 'get',
  path: '/api/referral/link',
  auth: 'session',
  summary: 'The caller’s referral link',
  description: 'The newest one; made where there is none.',
  returns: { 200: ReferralLinkView },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, present(app, await findOrMakeLink(app, wallet))),
});

export const postLink = route({
  method: 'post',
  path: '/api/referral/link',
  auth: 'session',
  summary: 'Make a new referral link',
  description: `It becomes the caller’s link; the codes of older ones go on working. At most ${MOST_LINKS} for each wallet.`,
  returns: { 201: ReferralLinkView },
  fails: [409],
  idempotent: true,
  handler: ({ app, wallet, once }) => once(async (tx) => reply(201, present(app, await makeLink(tx, wallet)))),
});

export const postBind = route({
  method: 'post',
  path: '/api/referral/bind',
  auth: 'session',
  summary: 'Say who referred the caller',
  description:
    'Once per wallet, and for good: again is 409, by whatever code. Neither oneself (400) nor a wallet that one referred, directly or through others (409), nor a ' +
    `banned wallet (409). From then on the referrer gets ${SHARE_PERCENT} % of the points of each of the caller’s scores, rounded down, within a daily cap, from the ` +
    'caller’s first score in a verified game on.',
  body: BindRequest,
  returns: { 201: ReferralBinding },
  fails: [403, 404, 409],
  idempotent: true,
  handler: ({ wallet, body, once }) => once(async (tx) => reply(201, await bindWallet(tx, wallet, body.code))),
});

export const getSummary = route({
  method: 'get',
  path: '/api/referral/summary',
  auth: 'session',
  summary: 'What the caller’s referrals amount to',
  returns: { 200: ReferralSummary },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readSummary(app, wallet)),
});

export const getStats = route({
  method: 'get',
  path: '/api/referral/stats',
  auth: 'session',
  summary: 'How the caller’s links and referrals do',
  description: 'What a score earned counts on the day on which it was given, normally within a second.',
  returns: { 200: ReferralStats },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readStats(app, wallet)),
});

export const getReferred = route({
  method: 'get',
  path: '/api/referral/referred',
  auth: 'session',
  summary: 'The wallets that the caller referred, newest first',
  query: PageQuery,
  returns: { 200: z.array(ReferredWallet) },
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const { referred, total } = await readReferred(app.db, wallet, query.limit, query.offset);
    return reply(200, referred, { 'X-Total-Count': String(total) });
  },
});

export const referralRoutes = { public: [], session: [getLink, postLink, postBind, getSummary, getStats, getReferred], admin: [] };
