import { reply, route } from '#platform/http/route.ts';
import { REST_DAYS, unlink } from './link.ts';
import { Link, LinkPath, LinkStart, LinkStartRequest, LinkVerifyRequest } from './schemas.ts';
import { startChallenge, startOAuth, verifyOAuth, verifyPost } from './x-linking.ts';

const iso = (ms: number) => new Date(ms).toISOString();

export const postLinkStart = route({
  method: 'post',
  path: '/auth/social/link/start',
  auth: 'session',
  summary: 'Begin to link an account of the social network',
  description:
    'By signing in there (`oauth`: OAuth 2.0 with PKCE), or by posting a text (`challenge`). Within ten minutes, and only by this wallet, it is finished at ' +
    '`/auth/social/link/verify`. A wallet’s latest five beginnings are good. 503 where that way is not configured.',
  body: LinkStartRequest,
  returns: { 200: LinkStart },
  fails: [403],
  handler: async ({ app, wallet, body: { platform, method } }) => {
    const { expiresAt, ...started } = await (method === 'oauth' ? startOAuth(app, wallet) : startChallenge(app, wallet));
    return reply(200, { platform, method, state: null, challenge: null, ...started, expiresAt: iso(expiresAt) });
  },
});

export const postLinkVerify = route({
  method: 'post',
  path: '/auth/social/link/verify',
  auth: 'session',
  summary: 'Finish linking an account',
  description:
    'With the `code` and `state` that the network sent the person back with, or with the post that begins with the challenge. An account belongs to one wallet, ' +
    'and a wallet has one account: otherwise 409, as for what has been used already. What the account did before (it follows the arcade, it has reposted or mentioned it) counts ' +
    'from now on. The service keeps no token of the network.',
  body: LinkVerifyRequest,
  returns: { 200: Link },
  fails: [403, 409, 429],
  handler: async ({ app, wallet, body }) => {
    const linked = await ('postId' in body ? verifyPost(app, wallet, body.postId) : verifyOAuth(app, wallet, body));
    const { platform, accountId, handle, linkedAt } = linked;
    return reply(200, { platform, accountId, handle, linkedAt: iso(linkedAt) });
  },
});

export const deleteLink = route({
  method: 'delete',
  path: '/auth/social/link/{platform}',
  auth: 'session',
  summary: 'Unlink the caller’s account of a network',
  description:
    'What the account did stays credited, and counts for no other wallet. The same wallet can link it again at once, another one after ' +
    `${REST_DAYS} days.`,
  params: LinkPath,
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, wallet, params }) => {
    await app.tx((tx) => unlink(tx, wallet, params.platform));
    return reply(204, null);
  },
});

/** The endpoints of linking accounts, by who may call them. */
export const socialRoutes = { public: [], session: [postLinkStart, postLinkVerify, deleteLink] };
