import { z } from 'zod';
import { html } from '#platform/http/pages/html.ts';
import { PAGE, pageUrl, replyPage } from '#platform/http/pages/page.ts';
import { route } from '#platform/http/route.ts';
import { isUsableCode } from './bind.ts';
import { readCode } from './codes.ts';
import { urlOf } from './links.ts';

const ABOUT = 'An arcade on Solana: wallets play games, scores become points, and points become token rewards.';
const INVITED = html`<p>Sign in with your wallet and enter this code. A wallet can use one code, once. The wallet that invited you then earns points when you play.</p>`;
const UNKNOWN = html`<p>This link has no valid invitation code. Ask for the link again, or play without a code.</p>`;

export const getHome = route({
  method: 'get',
  path: '/',
  auth: 'public',
  summary: 'The page of the arcade, to which referral links lead',
  description:
    'An HTML page for people. With the code of a referral link in `ref`, it shows the code, or says that the code is not valid. It needs no script. While the arcade page is on, the service serves that page here instead.',
  query: z.object({
    ref: z.string().max(64).optional().meta({ description: 'Referral code, in any case.', example: '7K3QXM9A' }),
  }),
  returns: { 200: PAGE },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app, ctx, query }) => {
    const code = query.ref === undefined ? null : readCode(query.ref);
    const isInvited = code !== null && (await isUsableCode(app.db, code));
    const url = isInvited ? urlOf(app.config, code) : pageUrl(app.config, '/');
    const title = isInvited ? 'You are invited' : 'Coinop';
    const invitation = isInvited
      ? html`<p>Your invitation code:</p>\n<p class="code">${code}</p>\n${INVITED}`
      : query.ref === undefined
        ? null
        : UNKNOWN;
    const body = html`<h1>${title}</h1>
<p>${ABOUT}</p>
${invitation}
${app.config.frontendUrl === null ? null : html`<p><a class="button" href="${url}">Open the arcade</a></p>`}`;
    return await replyPage(app, ctx, 200, { title, description: ABOUT, body, shared: { url } });
  },
});
