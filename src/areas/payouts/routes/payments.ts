import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { owe } from '../create-payment.ts';
import { resolveByHand, retryPayment } from '../decisions.ts';
import { listPayments, readPayment } from '../payments.ts';
import { OweRequest, PaymentFilterQuery, PaymentPath, PaymentResolution, PaymentView } from '../schemas.ts';

/** Payments that operators owe have causes of this kind; their ids are the references. */
const BY_HAND = 'by-hand';

export const getPayments = route({
  method: 'get',
  path: '/admin/payments',
  auth: { admin: 'money' },
  summary: 'Payments by payer, status, currency and wallet, oldest first',
  description: 'The orchestrator reads what it is to pay from ?payer=orchestrator&status=pending.',
  query: PageQuery.extend(PaymentFilterQuery.shape),
  returns: { 200: z.array(PaymentView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { limit, offset, ...filter } = query;
    const { payments, total } = await listPayments(app.db, filter, limit, offset);
    return reply(200, payments, { 'X-Total-Count': String(total) });
  },
});

export const getPayment = route({
  method: 'get',
  path: '/admin/payments/{id}',
  auth: { admin: 'money' },
  summary: 'One payment',
  params: PaymentPath,
  returns: { 200: PaymentView },
  fails: [404],
  handler: async ({ app, params }) => {
    const payment = await readPayment(app.db, params.id);
    if (!payment) throw fail(404, 'no such payment');
    return reply(200, payment);
  },
});

export const postPayment = route({
  method: 'post',
  path: '/admin/payments',
  auth: { admin: 'money' },
  summary: 'Owe a wallet something, and have it paid',
  description: 'Once per reference: the same again answers the payment that there is, with other terms 409.',
  body: OweRequest,
  returns: { 200: PaymentView, 201: PaymentView },
  fails: [409],
  idempotent: true,
  handler: async ({ app, body, once }) =>
    await once(async (tx) => {
      const { wallet, currency, amount, reference } = body;
      const [owed] = await owe(app, tx, [{ wallet, currency, amount: BigInt(amount), cause: { kind: BY_HAND, id: reference } }]);
      const payment = owed && (await readPayment(tx, owed.id));
      if (!payment) throw new Error('what was just owed is not there');
      return reply(owed.created ? 201 : 200, payment);
    }),
});

export const postRetry = route({
  method: 'post',
  path: '/admin/payments/{id}/retry',
  auth: { admin: 'money' },
  summary: 'Try a payment again that was set aside, or reported as failed',
  params: PaymentPath,
  returns: { 200: PaymentView },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await retryPayment(app, params.id);
    const payment = await readPayment(app.db, params.id);
    if (!payment) throw fail(404, 'no such payment');
    return reply(200, payment);
  },
});

export const postResolve = route({
  method: 'post',
  path: '/admin/payments/{id}/resolve',
  auth: { admin: 'money' },
  summary: 'Close a payment that was set aside and then made by hand',
  description: 'The transaction must be final, and must have paid the wallet this amount besides all that it is already known to have paid.',
  params: PaymentPath,
  body: PaymentResolution,
  returns: { 200: PaymentView },
  fails: [404, 409],
  handler: async ({ app, params, body }) => {
    await resolveByHand(app, params.id, body.signature);
    const payment = await readPayment(app.db, params.id);
    if (!payment) throw fail(404, 'no such payment');
    return reply(200, payment);
  },
});

export const paymentAdminRoutes = [getPayments, getPayment, postPayment, postRetry, postResolve];
