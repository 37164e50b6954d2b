import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { reply, route } from '#platform/http/route.ts';
import { listWallet, owedTo } from '../payments.ts';
import { PaymentView, PendingView, WalletPath } from '../schemas.ts';

export const myPayments = route({
  method: 'get',
  path: '/api/me/payments',
  auth: 'session',
  summary: 'What one is owed, and what one was paid',
  description: 'Prizes and refunds, newest first, each with how it goes and, once it has landed, its transaction.',
  query: PageQuery,
  returns: { 200: z.array(PaymentView) },
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const { payments, total } = await listWallet(app.db, wallet, query.limit, query.offset);
    return reply(200, payments, { 'X-Total-Count': String(total) });
  },
});

export const pendingUsdc = route({
  method: 'get',
  path: '/api/rewards/wallet/{wallet}/pending-usdc',
  auth: 'public',
  summary: 'The stablecoin that a wallet is owed and has not been paid',
  params: WalletPath,
  returns: { 200: PendingView },
  fails: [],
  handler: async ({ app, params }) =>
    reply(200, { wallet: params.wallet, currency: 'usdc' as const, ...(await owedTo(app.db, params.wallet, 'usdc')) }),
});

export const walletPaymentRoutes = { session: [myPayments], public: [pendingUsdc] };
