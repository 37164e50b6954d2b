import { unavailable } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { signForX } from '#platform/webhooks/signature.ts';
import { RELINK_COOLDOWN_DAYS, unlink } from './link.ts';
import { getLinkPage } from './link-page.ts';
import { CrcAnswer, CrcQuery, Link, LinkPath, LinkStart, LinkStartRequest, LinkVerifyRequest, XDelivery } from './schemas.ts';
import { startChallenge, startOAuth, verifyOAuth, verifyPost } from './x-linking.ts';

const iso = (ms: number) => new Date(ms).toISOString();

const postLinkStart = route({
  method: 'post',
  path: '/auth/social/link/start',
  auth: 'session',
  summary: 'Start linking an account of the social network',
  description:
    'Two methods: sign in to the network (`oauth`: OAuth 2.0 with PKCE), or post a text (`challenge`). The same wallet must finish at ' +
    '`/auth/social/link/verify` within ten minutes. The five newest attempts of a wallet are valid. 503 when the method is not configured.',
  body: LinkStartRequest,
  returns: { 200: LinkStart },
  fails: [403],
  handler: async ({ app, wallet, body: { platform, method } }) => {
    const { expiresAt, ...started } = await (method === 'oauth' ? startOAuth(app, wallet) : startChallenge(app, wallet));
    return reply(200, { platform, method, state: null, challenge: null, ...started, expiresAt: iso(expiresAt) });
  },
});

const postLinkVerify = route({
  method: 'post',
  path: '/auth/social/link/verify',
  auth: 'session',
  load: 'lookup',
  summary: 'Finish linking an account',
  description:
    'Takes the `code` and `state` from the network’s redirect, or the post that begins with the challenge. An account belongs to one wallet, and a wallet ' +
    'has one account; a link that breaks this rule gets 409. A state or challenge that was used already also gives 409. Earlier engagements of the account (follow, reposts, mentions) are ' +
    'credited to the wallet. The service stores no token of the network.',
  body: LinkVerifyRequest,
  returns: { 200: Link },
  fails: [403, 409, 429],
  handler: async ({ app, wallet, body }) => {
    const linked = await ('postId' in body ? verifyPost(app, wallet, body.postId) : verifyOAuth(app, wallet, body));
    const { platform, accountId, handle, linkedAt } = linked;
    return reply(200, { platform, accountId, handle, linkedAt: iso(linkedAt) });
  },
});

const deleteLink = route({
  method: 'delete',
  path: '/auth/social/link/{platform}',
  auth: 'session',
  summary: 'Unlink the caller’s account of a network',
  description:
    'Engagements of the account stay credited and do not count for another wallet. The same wallet can link the account again at once, another wallet after ' +
    `${RELINK_COOLDOWN_DAYS} days.`,
  params: LinkPath,
  returns: { 204: null },
  fails: [404],
  handler: async ({ app, wallet, params }) => {
    await app.tx((tx) => unlink(tx, wallet, params.platform));
    return reply(204, null);
  },
});

const getXChallenge = route({
  method: 'get',
  path: '/integrations/x/events',
  auth: 'public',
  summary: 'Answer the challenge of X for this webhook',
  description:
    'Challenge-response check: returns the base64 HMAC-SHA256 of the token under the newest secret. The same key signs deliveries, so only tokens ' +
    'that cannot be a delivery are signed. 503 when no secret is configured.',
  query: CrcQuery,
  returns: { 200: CrcAnswer },
  fails: [],
  handler: async ({ app, query }) => {
    const [key] = app.config.webhookKeys.x;
    if (!key) throw unavailable('the webhook of X is not configured on this service', 3_600);
    return reply(200, { response_token: signForX(key, query.crc_token) });
  },
});

const postXEvents = route({
  method: 'post',
  path: '/integrations/x/events',
  auth: { webhook: 'x' },
  summary: 'Receive a delivery of X',
  description:
    'Stores and acknowledges the delivery; a worker processes it and writes the verdict into the list of deliveries. Accepts events of the Account ' +
    'Activity API and of the X Activity API. A follow of the arcade’s account, a repost of its posts or a mention is credited to the wallet that has ' +
    'linked the author’s account, or later, when a wallet links it. A repeated event of either API counts once.',
  body: XDelivery,
  returns: { 200: Acknowledged },
  fails: [],
  handler: ({ delivery, once }) =>
    once(async (tx) => {
      tx.enqueue(processWebhook, { source: 'x', id: delivery.id });
      return acknowledged();
    }),
});

/** The endpoints of linked accounts and of the webhook of X, grouped by the callers that may use them. */
export const socialRoutes = {
  public: [getXChallenge, getLinkPage],
  session: [postLinkStart, postLinkVerify, deleteLink],
  webhooks: [postXEvents],
};
