import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { Id } from '#lib/scalars.ts';
import { reply, route } from '#platform/http/route.ts';
import { findGame } from '../registry.ts';
import { decideScore, voidScore } from './decide.ts';
import { listHeldScores, readScore } from './held.ts';
import { DecisionRequest, ScoreDetail, ScoreReceipt, ScoreRequest, VoidRequest } from './schemas.ts';
import { submitScore } from './submit.ts';

export const postScore = route({
  method: 'post',
  path: '/arcade/score',
  auth: 'session',
  summary: 'Submit a score',
  description:
    'Validated by a worker: known game, score in range, the play yours, unused and long enough, its session unbroken, the signature right. ' +
    'Doubtful scores are held for a moderator: 0 points, on no board until accepted. Answered once committed; after a 503 send the same ' +
    'score again, it is never counted twice. A battleId must be of a running battle of this game that you sit in: 404 unknown, 400 of another game, ' +
    '403 not joined, 409 not running; a score that was recorded is answered also after the battle. The same play (or Idempotency-Key) with the same body answers the stored outcome, with another body 409.',
  body: ScoreRequest,
  returns: { 200: ScoreReceipt },
  fails: [403, 404, 409],
  idempotent: true,
  handler: async ({ app, wallet, body, idempotencyKey }) => reply(200, await submitScore(app, wallet, body, idempotencyKey)),
});

export const getHeldScores = route({
  method: 'get',
  path: '/admin/scores',
  auth: { admin: 'moderation' },
  summary: 'Scores that wait for a decision, oldest first',
  query: PageQuery.extend({ status: z.literal('held').default('held') }),
  returns: { 200: z.array(ScoreDetail) },
  fails: [],
  handler: async ({ app, query }) => {
    const { scores, total } = await listHeldScores(app.db, query.limit, query.offset);
    return reply(200, scores, { 'X-Total-Count': String(total) });
  },
});

const ScoreParams = z.strictObject({ id: Id });

export const postDecision = route({
  method: 'post',
  path: '/admin/scores/{id}/decision',
  auth: { admin: 'moderation' },
  summary: 'Accept or reject a held score',
  description: 'Accepted, it counts on the day of the decision, within that day’s caps.',
  params: ScoreParams,
  body: DecisionRequest,
  returns: { 200: ScoreDetail },
  fails: [404, 409],
  handler: async ({ app, admin, params, body }) => {
    const held = await readScore(app.db, params.id);
    if (!held) throw fail(404, 'no such score');
    const game = await findGame(app, held.gameId);
    if (!game) throw fail(404, 'no such game');
    await decideScore(app, game, params.id, body.decision, { by: admin, reason: body.reason });
    return reply(200, (await readScore(app.db, params.id)) ?? held);
  },
});

export const postVoid = route({
  method: 'post',
  path: '/admin/scores/{id}/void',
  auth: { admin: 'moderation' },
  summary: 'Take an accepted score back',
  description: 'Its points are taken back by a ledger row of today; the wallet’s bests are computed again from its remaining scores.',
  params: ScoreParams,
  body: VoidRequest,
  returns: { 200: ScoreDetail },
  fails: [404, 409],
  handler: async ({ app, admin, params, body }) => {
    await voidScore(app, params.id, { by: admin, reason: body.reason });
    const score = await readScore(app.db, params.id);
    if (!score) throw fail(404, 'no such score');
    return reply(200, score);
  },
});
