import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { createPayments } from '../create-payment.ts';
import { resolveByHand, retryPayment } from '../decisions.ts';
import { listPayments, readPayment } from '../payments.ts';
import { CreatePaymentRequest, PaymentFilterQuery, PaymentPath, PaymentResolution, PaymentView } from '../schemas.ts';

/** Cause kind of payments that operators create. The cause id of such a payment is the field `reference` of the request. */
const BY_HAND = 'by-hand';

export const getPayments = route({
  method: 'get',
  path: '/admin/payments',
  auth: { admin: 'money' },
  summary: 'List payments by payer, status, currency and wallet, oldest first',
  description: 'The orchestrator reads its pending payments with ?payer=orchestrator&status=pending.',
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
  summary: 'Read a payment',
  params: PaymentPath,
  returns: { 200: PaymentView },
  fails: [404],
  handler: async ({ app, params }) => {
    const payment = await readPayment(app.db, params.id);
    if (!payment) throw fail(404, 'the payment does not exist');
    return reply(200, payment);
  },
});

export const postPayment = route({
  method: 'post',
  path: '/admin/payments',
  auth: { admin: 'money' },
  summary: 'Create a payment to a wallet',
  description:
    'Creates at most one payment per reference. A repeated request returns the existing payment; it fails with 409 when its wallet, currency or amount differs from the existing payment.',
  body: CreatePaymentRequest,
  returns: { 200: PaymentView, 201: PaymentView },
  fails: [409],
  idempotent: true,
  handler: async ({ app, body, once }) =>
    await once(async (tx) => {
      const { wallet, currency, amount, reference } = body;
      const [created] = await createPayments(app, tx, [{ wallet, currency, amount: BigInt(amount), cause: { kind: BY_HAND, id: reference } }]);
      const payment = created && (await readPayment(tx, created.id));
      if (!payment) throw new Error('the created payment does not exist');
      return reply(created.created ? 201 : 200, payment);
    }),
});

export const postRetry = route({
  method: 'post',
  path: '/admin/payments/{id}/retry',
  auth: { admin: 'money' },
  summary: 'Retry a payment in the state manual or failed',
  params: PaymentPath,
  returns: { 200: PaymentView },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await retryPayment(app, params.id);
    const payment = await readPayment(app.db, params.id);
    if (!payment) throw fail(404, 'the payment does not exist');
    return reply(200, payment);
  },
});

export const postResolve = route({
  method: 'post',
  path: '/admin/payments/{id}/resolve',
  auth: { admin: 'money' },
  summary: 'Complete a payment in the state manual that an operator paid by hand',
  description:
    'The transaction must be finalized. It must have paid the wallet at least the amount of this payment plus the amounts of all other payments that have the same signature.',
  params: PaymentPath,
  body: PaymentResolution,
  returns: { 200: PaymentView },
  fails: [404, 409],
  handler: async ({ app, params, body }) => {
    await resolveByHand(app, params.id, body.signature);
    const payment = await readPayment(app.db, params.id);
    if (!payment) throw fail(404, 'the payment does not exist');
    return reply(200, payment);
  },
});

export const paymentAdminRoutes = [getPayments, getPayment, postPayment, postRetry, postResolve];
