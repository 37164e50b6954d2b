import { z } from 'zod';
import { archivedHeader, readArchivedBefore } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { Id, Slug } from '#lib/scalars.ts';
import { reply, route } from '#platform/http/route.ts';
import { listOwnScores, readVisibleScore, ScoreView } from '../scores/own-scores.ts';

const getOwnScores = route({
  method: 'get',
  path: '/me/scores',
  auth: 'session',
  forBanned: true,
  summary: 'List the caller’s scores, newest first',
  description: 'Lists scores of every status and of both modes.',
  query: PageQuery.extend({ gameId: Slug.optional().meta({ description: 'Only scores of this game.' }) }),
  returns: { 200: z.array(ScoreView) },
  archived: true,
  fails: [],
  handler: async ({ app, wallet, query }) => {
    const [{ scores, total }, archived] = await Promise.all([listOwnScores(app.db, wallet, query), archivedHeader(app.db)]);
    return reply(200, scores, { 'X-Total-Count': String(total), ...archived });
  },
});

const getScore = route({
  method: 'get',
  path: '/arcade/score/{id}',
  auth: 'optional',
  forBanned: true,
  summary: 'Read a score',
  description:
    'Everybody may read an accepted score in regular mode, unless its wallet is banned. Only the wallet of the score may read any other score; other callers get 404.',
  params: z.strictObject({ id: Id.meta({ description: 'The score’s id.' }) }),
  returns: { 200: ScoreView },
  fails: [404],
  handler: async ({ app, params, wallet }) => {
    const score = await readVisibleScore(app.db, params.id, wallet);
    if (!score) {
      const day = await readArchivedBefore(app.db);
      throw fail(404, day === null ? 'no such score' : `no such score: scores from before ${day} are in the archive`);
    }
    return reply(200, score);
  },
});

export const ownScoreRoutes = { public: [getScore], session: [getOwnScores] };
