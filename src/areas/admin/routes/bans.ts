import { z } from 'zod';
import { banWallet, unbanWallet } from '#areas/arcade';
import { endSessions } from '#areas/auth';
import { line, Wallet } from '#lib/scalars.ts';
import { reply, route } from '#platform/http/route.ts';

const BanParams = z.strictObject({ wallet: Wallet });
const Ban = z.strictObject({ wallet: Wallet, banned: z.boolean() }).meta({ id: 'Ban' });

const postBan = route({
  method: 'post',
  path: '/admin/wallets/{wallet}/ban',
  auth: { admin: 'moderation' },
  summary: 'Ban a wallet',
  description: 'Ends the wallet’s sessions. The wallet can no longer sign in or submit scores. A job voids all its accepted scores.',
  params: BanParams,
  body: z.strictObject({ reason: line(200) }).meta({ id: 'BanRequest', example: { reason: 'bot' } }),
  returns: { 200: Ban },
  fails: [404],
  handler: async ({ app, params, body }) => {
    await banWallet(app, params.wallet, body.reason);
    await endSessions(app, params.wallet);
    return reply(200, { wallet: params.wallet, banned: true });
  },
});

const postUnban = route({
  method: 'post',
  path: '/admin/wallets/{wallet}/unban',
  auth: { admin: 'moderation' },
  summary: 'Lift a ban',
  description: 'Voided scores stay voided.',
  params: BanParams,
  returns: { 200: Ban },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await unbanWallet(app, params.wallet);
    return reply(200, { wallet: params.wallet, banned: false });
  },
});

export const banRoutes = [postBan, postUnban];
