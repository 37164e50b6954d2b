import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { listWalletPayments, readOwedToWallet } from '../payments.ts';
import { PaymentView, PendingView, WalletPath } from '../schemas.ts';

export const myPayments = route({
  method: 'get',
  path: '/api/me/payments',
  auth: 'session',
  summary: 'Payments of the signed-in wallet',
  description:
    'Lists prizes, refunds and other payments, newest first. Each payment has its status; a payment with the status confirmed or completed can have the signature of its transaction.',
  query: PageQuery,
  returns: { 200: z.array(PaymentView) },
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const { payments, total } = await listWalletPayments(app.db, wallet, query.limit, query.offset);
    return reply(200, payments, { 'X-Total-Count': String(total) });
  },
});

export const pendingUsdc = route({
  method: 'get',
  path: '/api/rewards/wallet/{wallet}/pending-usdc',
  auth: 'public',
  summary: 'Sum of a wallet’s USDC payments that are neither completed nor reversed',
  params: WalletPath,
  returns: { 200: PendingView },
  fails: [],
  handler: async ({ app, params }) =>
    reply(200, { wallet: params.wallet, currency: 'usdc' as const, ...(await readOwedToWallet(app.db, params.wallet, 'usdc')) }),
});
