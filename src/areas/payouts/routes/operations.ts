import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { type ListedTransaction, listTransactions, retryManual } from '#platform/solana/submission/transactions.ts';
import { hold, release } from '../reconciliation/pause.ts';
import { payoutsStatus } from '../reconciliation/status.ts';
import { HoldRequest, PayoutsView, ReleaseRequest, TransactionPath, TransactionsQuery, TransactionView } from '../schemas.ts';

export const getPayouts = route({
  method: 'get',
  path: '/admin/payouts',
  auth: { admin: 'money' },
  summary: 'How payouts stand: paused or not, lanes, what does not fit',
  returns: { 200: PayoutsView },
  fails: [],
  handler: async ({ app }) => reply(200, await payoutsStatus(app.db)),
});

export const postPause = route({
  method: 'post',
  path: '/admin/payouts/pause',
  auth: { admin: 'money' },
  summary: 'Stop payouts',
  description: 'Nothing more is signed; what is on its way is followed to its end.',
  body: HoldRequest,
  returns: { 200: PayoutsView },
  fails: [],
  handler: async ({ app, admin, body }) => {
    await hold(app, admin, body.reason);
    return reply(200, await payoutsStatus(app.db));
  },
});

export const postResume = route({
  method: 'post',
  path: '/admin/payouts/resume',
  auth: { admin: 'money' },
  summary: 'Let payouts go on',
  description:
    'Lifts what a person stopped. Transactions that nobody could match have to be acknowledged, all of them; a doubt that is left stops payouts again at the next look.',
  body: ReleaseRequest,
  returns: { 200: PayoutsView },
  fails: [409],
  handler: async ({ app, admin, body }) => {
    await release(app, admin, body.acknowledge, body.acceptLanes);
    return reply(200, await payoutsStatus(app.db));
  },
});

/** What PostgreSQL holds as jsonb is JSON. */
const shown = (row: ListedTransaction) => ({ ...row, error: z.json().parse(row.error), evidence: z.json().parse(row.evidence) });

export const getTransactions = route({
  method: 'get',
  path: '/admin/transactions',
  auth: { admin: 'money' },
  summary: 'Chain transactions that need a person, or have failed',
  query: PageQuery.extend(TransactionsQuery.shape),
  returns: { 200: z.array(TransactionView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { transactions, total } = await listTransactions(app.db, query.state, query.limit, query.offset);
    return reply(200, transactions.map(shown), { 'X-Total-Count': String(total) });
  },
});

export const postTransactionRetry = route({
  method: 'post',
  path: '/admin/transactions/{id}/retry',
  auth: { admin: 'money' },
  summary: 'Try a chain transaction again that was set aside before it was signed',
  description:
    'For when its cause is gone: everything is looked at anew, and where the cause stands it is set aside again. One that may have landed is refused (409), with what is missing to tell.',
  params: TransactionPath,
  returns: { 200: TransactionView },
  fails: [404, 409],
  handler: async ({ app, params }) => reply(200, shown(await app.tx((tx) => retryManual(tx, params.id)))),
});

export const payoutAdminRoutes = [getPayouts, postPause, postResume, getTransactions, postTransactionRetry];
