import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { appendRecord, MOST_IN } from '../records.ts';
import { findGame } from '../registry.ts';
import { FreeObject, GamePath, RecordReceipt } from '../schemas.ts';

const record = route({
  method: 'post',
  path: '/game/{id}/record',
  auth: 'session',
  summary: 'Log a finalized record for good',
  description: `Any JSON object up to 256 KB. Records are never changed or removed; each names the hash of the one before. At most ${MOST_IN.minute} a minute and ${MOST_IN.day} a day of one wallet in one game.`,
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
