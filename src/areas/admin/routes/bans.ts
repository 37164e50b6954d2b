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
  description:
    'Ends the wallet’s sessions. The wallet can sign in again only to read its own data, to appeal and to delete its account. It can read the reason. The wallet is on no board, also of ended periods, and in no epoch that is not committed, and its scores do not count in running battles. Its referrer loses the points that it got from the scores of the wallet. A job rejects the held scores. Entries that were made stay. The end of the ban undoes all this.',
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
  description:
    'Undoes all that the ban changed: the wallet is on the boards again with all its points, the scores that the ban rejected are held again, and its referrer gets the points back.',
  params: BanParams,
  returns: { 200: Ban },
  fails: [404, 409],
  handler: async ({ app, params }) => {
    await unbanWallet(app, params.wallet);
    // Ends the restricted sessions, so that the next sign-in gives a session for all routes.
    await endSessions(app, params.wallet);
    return reply(200, { wallet: params.wallet, banned: false });
  },
});

export const banRoutes = [postBan, postUnban];
