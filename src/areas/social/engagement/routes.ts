import { unavailable } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { Acknowledged, acknowledged } from '#platform/webhooks/receive.ts';
import { signatureOfX } from '#platform/webhooks/signature.ts';
import { CrcAnswer, CrcQuery, XDelivery } from '../schemas.ts';

export const getXChallenge = route({
  method: 'get',
  path: '/integrations/x/events',
  auth: 'public',
  summary: 'Show X that this webhook is ours',
  description:
    'The challenge-response check: the base64 HMAC-SHA256 of the token under the newest secret. The same key signs deliveries, so nothing is signed that ' +
    'could be one. 503 where no secret is configured.',
  query: CrcQuery,
  returns: { 200: CrcAnswer },
  fails: [],
  handler: async ({ app, query }) => {
    const [key] = app.config.webhookKeys.x;
    if (!key) throw unavailable('the webhook of X is not configured on this service', 3_600);
    return reply(200, { response_token: signatureOfX(key, query.crc_token) });
  },
});

export const postXEvents = route({
  method: 'post',
  path: '/integrations/x/events',
  auth: { webhook: 'x' },
  summary: 'What happens on X',
  description:
    'Stored, acknowledged, then worked on; the verdict is in the list of deliveries. Taken are events of the Account Activity API and of the X Activity ' +
    'API. Who follows the arcade’s account, reposts a post of it or mentions it is credited as the wallet that has linked the account, or once it does. ' +
    'What tells the same again does nothing, whichever API it is of.',
  body: XDelivery,
  returns: { 200: Acknowledged },
  fails: [],
  handler: ({ delivery, once }) =>
    once(async (tx) => {
      tx.enqueue(processWebhook, { source: 'x', id: delivery.id });
      return acknowledged();
    }),
});

/** What the social network delivers. */
export const engagementRoutes = { public: [getXChallenge], webhooks: [postXEvents] };
