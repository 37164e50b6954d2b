import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { Id } from '#lib/scalars.ts';
import { inTurn } from '#platform/db/turns.ts';
import { preferredWaitMs } from '#platform/http/prefer-header.ts';
import { reply, route } from '#platform/http/route.ts';
import { requestClaim } from '../claims/request.ts';
import { type ClaimRow, listOwnClaims } from '../claims/rows.ts';
import { ClaimBody, ClaimReceipt, ClaimView, receiptOf } from '../claims/schemas.ts';
import { createWithOthers } from '../claims/together.ts';
import { awaitClaim } from '../claims/wait.ts';

/** Maximum time that a claim request waits until its transaction is confirmed, ms. */
const WAIT_MS = 20_000;

export const postClaim = route({
  method: 'post',
  path: '/api/rewards/claim',
  auth: 'session',
  load: 'worker',
  summary: 'Claim an epoch’s reward',
  description:
    'The service sends the transaction and pays the fees; the tokens go only to the wallet in the leaf. The request waits up to 20 s for the chain (`Prefer: wait=5` shortens this wait to 5 s). ' +
    'After that it returns 202, and the event `claim_confirmed` or `claim_failed` reports the outcome. A repeated request returns the same claim; a failed claim is retried. ' +
    'Fails with 409 when the reward is claimed already (the error names the transaction), settled off-chain, not committed, ' +
    'expired (relaying ends 10 minutes before the expiry), or when the wallet must open a token account first. ' +
    'Fails with 429 and `Retry-After` when the wallet has too many claims in flight, or when the claim failed on the chain several times.',
  body: ClaimBody,
  returns: { 200: ClaimReceipt, 202: ClaimReceipt },
  fails: [404, 409, 429],
  idempotent: true,
  async handler({ app, wallet, body, ctx, idempotencyKey, once }) {
    const proof = body.proof.map((node) => Buffer.from(node, 'hex'));
    const request = { epoch: body.epoch, proof };
    const requested = await inTurn(app, `claim ${wallet}`, async () => {
      // With an idempotency key, the transaction of the claim also stores the reply.
      const created = idempotencyKey === null ? await createWithOthers(app, { wallet, ...request }) : null;
      if (created !== null) return reply(202, { claimId: created });
      return await once(async (tx) => reply(202, { claimId: await requestClaim(tx, wallet, request) }));
    });
    const claim = await awaitClaim(app, requested.body.claimId, preferredWaitMs(ctx, WAIT_MS));
    if (!claim) throw fail(404, 'the claim does not exist');
    if (claim.state === 'failed') throw fail(409, claim.reason ?? 'the claim failed');
    if (claim.state === 'confirmed' || claim.state === 'claimed') return reply(200, receiptOf(claim));
    return reply(202, receiptOf(claim), { Location: `/api/rewards/claims/${claim.id}` });
  },
});

const presentClaim = (claim: ClaimRow) => ({
  ...receiptOf(claim),
  ...{ reason: claim.reason, requestedAt: claim.created_at, changedAt: claim.changed_at },
});

export const getOwnClaims = route({
  method: 'get',
  path: '/me/claims',
  auth: 'session',
  summary: 'List the claims of the caller’s rewards, newest first',
  description: 'Includes claims that another service submitted for the caller. `/api/rewards/wallet/{wallet}/claimable` lists the unclaimed rewards.',
  query: PageQuery,
  returns: { 200: z.array(ClaimView) },
  fails: [],
  async handler({ app, wallet, query }) {
    const { claims, total } = await listOwnClaims(app.db, wallet, query.limit, query.offset);
    return reply(200, claims.map(presentClaim), { 'X-Total-Count': String(total) });
  },
});

export const getClaim = route({
  method: 'get',
  path: '/api/rewards/claims/{id}',
  auth: 'public',
  summary: 'Read a claim',
  params: z.strictObject({ id: Id.meta({ description: 'The id of the claim.' }) }),
  returns: { 200: ClaimView },
  fails: [404],
  async handler({ app, params }) {
    const claim = await awaitClaim(app, params.id, 0);
    if (!claim) throw fail(404, 'the claim does not exist');
    return reply(200, presentClaim(claim));
  },
});
