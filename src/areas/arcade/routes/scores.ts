import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { Id } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import type { Game } from '../games/definition.ts';
import { findGame } from '../games/registry.ts';
import { decideScores } from '../moderation/bulk.ts';
import { listScores } from '../moderation/lists.ts';
import { Decisions, DecisionsRequest, MAX_DECISIONS, ModeratedScore, ScoreFilter } from '../moderation/schemas.ts';
import { decideScore, voidScore } from '../scores/decide.ts';
import { readScore } from '../scores/moderation.ts';
import { restoreScore } from '../scores/restore.ts';
import { DecisionRequest, RestoreRequest, ScoreDetail, ScoreReceipt, ScoreRequest, VoidRequest } from '../scores/schemas.ts';
import { submitScore } from '../scores/submit.ts';

const postScore = route({
  method: 'post',
  path: '/arcade/score',
  auth: 'session',
  load: 'worker',
  summary: 'Submit a score',
  description:
    'A worker validates the score: the game exists, the score is in range, the play is the caller’s own, live, unused and long enough, its session is unbroken and the signature is valid. ' +
    'A doubtful score is held for a moderator. It gets 0 points and is on no board until it is accepted. A wallet with too many held scores gets 409 for a score that would be held, until a moderator decides. The response is sent after the commit. After a 503, send the same ' +
    'score again; it never counts twice. `battleId` must be a running battle of this game that the caller joined: 404 if it does not exist, 400 if it is of another game, ' +
    '403 if the caller did not join it, 409 if it is not running. A repeated request for a recorded score gets its receipt even after the battle. ' +
    'The same play (or Idempotency-Key) with the same body gets the stored result, and with another body 409. ' +
    'The scores of a wallet in games without verification are limited per minute and per day (429).',
  body: ScoreRequest,
  returns: { 200: ScoreReceipt },
  fails: [403, 404, 409, 429],
  idempotent: true,
  handler: async ({ app, wallet, body, idempotencyKey }) => reply(200, await submitScore(app, wallet, body, idempotencyKey)),
});

const getScores = route({
  method: 'get',
  path: '/admin/scores',
  auth: { admin: 'moderation' },
  summary: 'List scores for moderators',
  description:
    'Held scores, oldest first; or scores of another status, newest first. Accepted scores only of a wallet. `appeal` is what the wallet answers.',
  query: PageQuery.extend(ScoreFilter.shape),
  returns: { 200: z.array(ModeratedScore) },
  fails: [],
  handler: async ({ app, query: { limit, offset, ...filter } }) => {
    const { scores, total } = await listScores(app.db, filter, { limit, offset });
    return reply(200, scores, { 'X-Total-Count': String(total) });
  },
});

const postDecisions = route({
  method: 'post',
  path: '/admin/scores/decisions',
  auth: { admin: 'moderation' },
  summary: 'Accept, reject or void many scores',
  description:
    `Decides at most ${MAX_DECISIONS} scores: the given ones, or the oldest ones that match the filter. Accepted scores count on the day of the decision, within the caps of that day. ` +
    'Scores that are decided already are skipped, so the same request can be sent again.',
  body: DecisionsRequest,
  returns: { 200: Decisions },
  fails: [],
  handler: async ({ app, admin, body }) => reply(200, await decideScores(app, body, admin)),
});

const ScoreParams = z.strictObject({ id: Id.meta({ description: 'The score’s id.' }) });

/**
 * Finds a score and its game.
 * @throws 404 when the score does not exist
 */
async function findScore(app: App, id: string): Promise<{ score: ScoreDetail; game: Game }> {
  const score = await readScore(app.db, id);
  if (!score) throw fail(404, 'no such score');
  const game = await findGame(app, score.gameId);
  if (!game) throw fail(404, 'no such game');
  return { score, game };
}

const postDecision = route({
  method: 'post',
  path: '/admin/scores/{id}/decision',
  auth: { admin: 'moderation' },
  summary: 'Accept or reject a held score',
  description: 'An accepted score counts on the day of the decision, within the caps of that day.',
  params: ScoreParams,
  body: DecisionRequest,
  returns: { 200: ScoreDetail },
  fails: [404, 409],
  handler: async ({ app, admin, params, body }) => {
    const { game } = await findScore(app, params.id);
    await decideScore(app, game, params.id, body.decision, { by: admin, reason: body.reason });
    return reply(200, (await findScore(app, params.id)).score);
  },
});

const postVoid = route({
  method: 'post',
  path: '/admin/scores/{id}/void',
  auth: { admin: 'moderation' },
  summary: 'Void an accepted score',
  description:
    'A ledger row of the current day takes the points of the score back. If the score is of the current day, the points no longer count in the daily caps. The wallet’s best scores are recomputed from its remaining scores.',
  params: ScoreParams,
  body: VoidRequest,
  returns: { 200: ScoreDetail },
  fails: [404, 409],
  handler: async ({ app, admin, params, body }) => {
    await voidScore(app, params.id, { by: admin, reason: body.reason });
    return reply(200, (await findScore(app, params.id)).score);
  },
});

const postRestore = route({
  method: 'post',
  path: '/admin/scores/{id}/restore',
  auth: { admin: 'moderation' },
  summary: 'Undo the void of a score',
  description:
    'The score counts again on the boards, and a ledger row of the current day gives its points back, within the points that the wallet’s other scores left of the caps of the score’s day. ' +
    'A score can be restored once: 409 if it was restored before. 409 also if the score is not voided, or if the wallet is banned.',
  params: ScoreParams,
  body: RestoreRequest,
  returns: { 200: ScoreDetail },
  fails: [404, 409],
  handler: async ({ app, admin, params, body }) => {
    const { game } = await findScore(app, params.id);
    await restoreScore(app, game, params.id, { by: admin, reason: body.reason });
    return reply(200, (await findScore(app, params.id)).score);
  },
});

export const scoreRoutes = { session: [postScore], admin: [getScores, postDecisions, postDecision, postVoid, postRestore] };
