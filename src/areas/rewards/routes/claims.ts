import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { Id } from '#lib/scalars.ts';
import { preferredWait } from '#platform/http/prefer-header.ts';
import { reply, route } from '#platform/http/route.ts';
import { requestClaim } from '../claims/request.ts';
import { ClaimBody, ClaimReceipt, ClaimView, receiptOf } from '../claims/schemas.ts';
import { outcomeOf } from '../claims/wait.ts';

/** How long a claim's request waits for the chain, ms; less where the caller prefers so. */
const WAIT_MS = 20_000;

export const postClaim = route({
  method: 'post',
  path: '/api/rewards/claim',
  auth: 'session',
  summary: 'Claim an epoch’s reward',
  description:
    'Relayed: the service pays the fees, and the tokens go only to the wallet named in the leaf. Waits up to 20 s for the chain (`Prefer: wait=5` for less); ' +
    'later than that it is 202, the work goes on, and `claim_confirmed` or `claim_failed` tells the outcome. Asked again meanwhile, it is the same claim; ' +
    'one that failed is tried anew. Refused with 409 when the reward is claimed already (the sentence names the transaction), settled off-chain, not committed, ' +
    'expired (relaying ends 10 minutes before), or when the wallet has to open a token account first.',
  body: ClaimBody,
  returns: { 200: ClaimReceipt, 202: ClaimReceipt },
  fails: [404, 409],
  idempotent: true,
  async handler({ app, wallet, body, ctx, once }) {
    const proof = body.proof.map((node) => Buffer.from(node, 'hex'));
    const asked = await once(async (tx) => reply(202, { claimId: await requestClaim(tx, wallet, { epoch: body.epoch, proof }) }));
    const claim = await outcomeOf(app, asked.body.claimId, preferredWait(ctx, WAIT_MS));
    if (!claim) throw fail(404, 'no such claim');
    if (claim.state === 'failed') throw fail(409, claim.reason ?? 'the claim failed');
    if (claim.state === 'confirmed' || claim.state === 'claimed') return reply(200, receiptOf(claim));
    return reply(202, receiptOf(claim), { Location: `/api/rewards/claims/${claim.id}` });
  },
});

export const getClaim = route({
  method: 'get',
  path: '/api/rewards/claims/{id}',
  auth: 'public',
  summary: 'How a claim stands',
  params: z.strictObject({ id: Id }),
  returns: { 200: ClaimView },
  fails: [404],
  async handler({ app, params }) {
    const claim = await outcomeOf(app, params.id, 0);
    if (!claim) throw fail(404, 'no such claim');
    const { reason, created_at, changed_at } = claim;
    return reply(200, { ...receiptOf(claim), reason, requestedAt: created_at, changedAt: changed_at });
  },
});
