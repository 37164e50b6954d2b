import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { type ListedTransaction, listTransactions, retryManual } from '#platform/solana/submission/index.ts';
import { pausePayouts, resumePayouts } from '../reconciliation/pause.ts';
import { payoutsStatus } from '../reconciliation/status.ts';
import { PauseRequest, PayoutsView, ResumeRequest, TransactionPath, TransactionsQuery, TransactionView } from '../schemas.ts';

export const getPayouts = route({
  method: 'get',
  path: '/admin/payouts',
  auth: { admin: 'money' },
  summary: 'State of payouts: pauses, open payments by status, lanes, unmatched transactions',
  returns: { 200: PayoutsView },
  fails: [],
  handler: async ({ app }) => reply(200, await payoutsStatus(app)),
});

export const postPause = route({
  method: 'post',
  path: '/admin/payouts/pause',
  auth: { admin: 'money' },
  summary: 'Pause payouts',
  description: 'No further batch is signed. Transactions that were sent before are followed until they are finalized or expired.',
  body: PauseRequest,
  returns: { 200: PayoutsView },
  fails: [],
  handler: async ({ app, admin, body }) => {
    await pausePayouts(app, admin, body.reason);
    return reply(200, await payoutsStatus(app));
  },
});

export const postResume = route({
  method: 'post',
  path: '/admin/payouts/resume',
  auth: { admin: 'money' },
  summary: 'Resume payouts',
  description:
    'Removes the pause that an operator set. The request must acknowledge all unmatched transactions. If the next reconciliation finds another difference, it pauses payouts again.',
  body: ResumeRequest,
  returns: { 200: PayoutsView },
  fails: [409],
  handler: async ({ app, admin, body }) => {
    await resumePayouts(app, admin, body.acknowledge, body.acceptLanes);
    return reply(200, await payoutsStatus(app));
  },
});

/**
 * Converts the row of a transaction to the form that the API returns. Parses the jsonb columns `error` and `evidence`, because their static type is
 * `unknown`.
 */
const transactionView = (row: ListedTransaction) => ({ ...row, error: z.json().parse(row.error), evidence: z.json().parse(row.evidence) });

export const getTransactions = route({
  method: 'get',
  path: '/admin/transactions',
  auth: { admin: 'money' },
  summary: 'List chain transactions in the state manual or failed',
  query: PageQuery.extend(TransactionsQuery.shape),
  returns: { 200: z.array(TransactionView) },
  fails: [],
  handler: async ({ app, query }) => {
    const { transactions, total } = await listTransactions(app.db, query.state, query.limit, query.offset);
    return reply(200, transactions.map(transactionView), { 'X-Total-Count': String(total) });
  },
});

export const postTransactionRetry = route({
  method: 'post',
  path: '/admin/transactions/{id}/retry',
  auth: { admin: 'money' },
  summary: 'Retry a chain transaction in the state manual',
  description:
    'Use this request after the cause of the failure is removed. If the cause remains, the transaction returns to the state manual. The request fails with 409 when an earlier attempt may have landed; the error says what information is missing to decide that.',
  params: TransactionPath,
  returns: { 200: TransactionView },
  fails: [404, 409],
  handler: async ({ app, params }) => reply(200, transactionView(await app.tx((tx) => retryManual(tx, params.id)))),
});

export const payoutAdminRoutes = [getPayouts, postPause, postResume, getTransactions, postTransactionRetry];
