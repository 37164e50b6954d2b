import type Koa from 'koa';
import type { z } from 'zod';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { html } from '#platform/http/pages/html.ts';
import { PAGE, replyPage } from '#platform/http/pages/page.ts';
import { route } from '#platform/http/route.ts';
import { LinkRedirectQuery } from './schemas.ts';
import { verifyOAuth } from './x-linking.ts';

type Query = z.output<typeof LinkRedirectQuery>;

/** Replies with the page for a person who refused the sign-in at X. */
async function replyRefused(app: App, ctx: Koa.Context) {
  const title = 'The account is not linked';
  const description = 'X did not confirm the sign-in. You can start linking again.';
  return await replyPage(app, ctx, 200, { title, description, body: html`<h1>${title}</h1>\n<p>${description}</p>` });
}

/** Replies with the code and state, for an application that has the session and asks its user for them. */
async function replyHandOver(app: App, ctx: Koa.Context, { code, state }: { code: string; state: string }) {
  const title = 'One more step';
  const description = 'This browser has no session. Return to the application in which you started, and enter these two values within ten minutes.';
  const body = html`<h1>${title}</h1>
<p>${description} Only the wallet that started can use them.</p>
<dl>
<dt>Code</dt><dd><code>${code}</code></dd>
<dt>State</dt><dd><code>${state}</code></dd>
</dl>`;
  return await replyPage(app, ctx, 200, { title, description, body });
}

/** Links the account of the person who signed in to X, and replies with the page that says so. */
async function replyLinked(app: App, ctx: Koa.Context, wallet: string, proof: { code: string; state: string }) {
  const { handle } = await verifyOAuth(app, wallet, proof);
  const title = 'Your account is linked';
  const description = `Your X account @${handle} is linked to your wallet.`;
  const body = html`<h1>${title}</h1>
<p>Your X account <strong>@${handle}</strong> is linked to your wallet <code>${wallet}</code>. You can close this page.</p>`;
  return await replyPage(app, ctx, 200, { title, description, body });
}

/** Returns the code and state of a redirect. @throws 400 when one is missing */
function proofOf({ code, state }: Query): { code: string; state: string } {
  if (code === undefined) throw fail(400, 'code is required and must be the code from X; start linking again');
  if (state === undefined) throw fail(400, 'state is required and must be the state from X; start linking again');
  return { code, state };
}

/** The page to which X redirects without a front end. The state protects it from forged requests: only the wallet that started can use the state. */
export const getLinkPage = route({
  method: 'get',
  path: '/link/x',
  auth: 'optional',
  load: 'lookup',
  summary: 'The page to which X redirects after the sign-in',
  description:
    'An HTML page for people. With a session, it links the account, as `POST /auth/social/link/verify` does. Without one, it shows `code` and `state`, so that ' +
    'the person can enter them in the application that has the session. A front end at `FRONTEND_URL` has its own page at this path.',
  query: LinkRedirectQuery,
  returns: { 200: PAGE },
  fails: [403, 409, 429],
  handler: async ({ app, ctx, query, wallet }) => {
    if (query.error !== undefined) return await replyRefused(app, ctx);
    const proof = proofOf(query);
    // A HEAD request must not link the account, because the code can be used only once.
    if (wallet === null || ctx.method === 'HEAD') return await replyHandOver(app, ctx, proof);
    return await replyLinked(app, ctx, wallet, proof);
  },
});
