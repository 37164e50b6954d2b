import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { findGame } from '../games/registry.ts';
import { appendRecord, MAX_RECORDS } from '../saves/records.ts';
import { FreeObject, GamePath, RecordReceipt } from '../schemas.ts';

const record = route({
  method: 'post',
  path: '/game/{id}/record',
  auth: 'session',
  summary: 'Append a record to a hash chain',
  description: `Any JSON object up to 256 KB. Records are never changed or deleted, except that an operator may erase the content of a record when the law demands it. Each record contains the hash of the previous record. At most ${MAX_RECORDS.minute} a minute and ${MAX_RECORDS.day} a day per wallet and game.`,
  params: GamePath,
  body: FreeObject,
  returns: { 201: RecordReceipt },
  fails: [404, 429],
  idempotent: true,
  handler: async ({ app, params, wallet, body, once }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    return await once(async (tx) => reply(201, await appendRecord(tx, wallet, game.id, body)));
  },
});

export const recordRoutes = [record];
