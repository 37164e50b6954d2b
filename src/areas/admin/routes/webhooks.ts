import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { listDeliveries, readStoredDelivery, replayDelivery } from '#platform/webhooks/inbox.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { DeliveryBody, DeliveryFilter, DeliveryPath, DeliveryView } from '../schemas.ts';

// Requires the scope `money`, because deliveries report payments and a replay can complete a payment.
const MONEY = { admin: 'money' } as const;
const noSuchDelivery = () => fail(404, 'no such delivery');

const getDeliveries = route({
  method: 'get',
  path: '/admin/webhooks',
  auth: MONEY,
  summary: 'List webhook deliveries, newest first',
  description: '`X-Total-Count` is at most 10,000. The service deletes settled deliveries 30 days after their receipt.',
  query: PageQuery.extend(DeliveryFilter.shape),
  returns: { 200: z.array(DeliveryView) },
  fails: [],
  handler: async ({ app, query: { limit, offset, ...filter } }) => {
    const { deliveries, total } = await listDeliveries(app.db, filter, limit, offset);
    return reply(200, deliveries, { 'X-Total-Count': String(total) });
  },
});

const getDelivery = route({
  method: 'get',
  path: '/admin/webhooks/{source}/{id}',
  auth: MONEY,
  summary: 'Read a webhook delivery with its body',
  params: DeliveryPath,
  returns: { 200: DeliveryBody },
  fails: [404],
  handler: async ({ app, params }) => {
    const stored = await readStoredDelivery(app.db, params);
    if (!stored) throw noSuchDelivery();
    return reply(200, stored);
  },
});

const postReplay = route({
  method: 'post',
  path: '/admin/webhooks/{source}/{id}/replay',
  auth: MONEY,
  summary: 'Replay a webhook delivery',
  description:
    'Processes a failed or processed delivery again. Processing is idempotent, so an effect that happened before does not happen again. ' +
    '409 while the delivery is waiting or is being processed.',
  params: DeliveryPath,
  returns: { 202: DeliveryView },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    const replayed = await app.tx(async (tx) => {
      const delivery = await replayDelivery(tx, params);
      if (delivery === 'unknown') throw noSuchDelivery();
      if (delivery === 'pending') throw fail(409, 'a delivery can be replayed only in the states “worked” and “failed”; this delivery is “received”');
      tx.enqueue(processWebhook, params);
      return delivery;
    });
    return reply(202, replayed, { Location: `/admin/webhooks/${params.source}/${encodeURIComponent(params.id)}` });
  },
});

/** Endpoints to list, read and replay webhook deliveries. */
export const webhookRoutes = [getDeliveries, getDelivery, postReplay];
