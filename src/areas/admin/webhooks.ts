import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { listDeliveries, readStoredDelivery, replayDelivery } from '#platform/webhooks/inbox.ts';
import { processWebhook } from '#platform/webhooks/jobs.ts';
import { DeliveryBody, DeliveryFilter, DeliveryPath, DeliveryView } from './schemas.ts';

// Deliveries report payments, and working on one again may make one count: whoever sees and replays them handles money.
const MONEY = { admin: 'money' } as const;
const noSuchDelivery = () => fail(404, 'no such delivery');

const getDeliveries = route({
  method: 'get',
  path: '/admin/webhooks',
  auth: MONEY,
  summary: 'What came by webhook, newest first, and what became of it',
  description: '`X-Total-Count` counts no further than 10,000. What is done with is forgotten 30 days after it came.',
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
  summary: 'A delivery with its body',
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
  summary: 'Have a delivery worked on again',
  description:
    'One that failed, or was worked on: it is judged as if it came again, so that what has taken effect already takes none. ' +
    '409 while it waits or is being worked on.',
  params: DeliveryPath,
  returns: { 202: DeliveryView },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    const replayed = await app.tx(async (tx) => {
      const delivery = await replayDelivery(tx, params);
      if (delivery === 'unknown') throw noSuchDelivery();
      if (delivery === 'at work') throw fail(409, 'the delivery waits, or is being worked on');
      tx.enqueue(processWebhook, params);
      return delivery;
    });
    return reply(202, replayed, { Location: `/admin/webhooks/${params.source}/${encodeURIComponent(params.id)}` });
  },
});

/** What came by webhook, what became of it, and having it worked on again. */
export const webhookOperations = [getDeliveries, getDelivery, postReplay];
