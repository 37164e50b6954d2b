import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { inTurn } from '#platform/db/turns.ts';
import { reply, route } from '#platform/http/route.ts';
import { withinQuota } from '#platform/quotas/usage.ts';
import { findGame } from '../games/registry.ts';
import { listRecords } from '../saves/list-records.ts';
import { appendRecord, MAX_RECORDS } from '../saves/records.ts';
import { FreeObject, GamePath, RecordReceipt, RecordView } from '../schemas.ts';

const record = route({
  method: 'post',
  path: '/game/{id}/record',
  auth: 'session',
  summary: 'Append a record to a hash chain',
  description: `Any JSON object up to 256 KB. Records are never changed or deleted, except that an operator may erase the content of a record when the law demands it. Each record contains the hash of the previous record. At most ${MAX_RECORDS.minute} a minute and ${MAX_RECORDS.day} a day per wallet and game. All records of a wallet together have a quota: 409 when it is used up.`,
  params: GamePath,
  body: FreeObject,
  returns: { 201: RecordReceipt },
  fails: [404, 409, 429],
  idempotent: true,
  handler: async ({ app, params, wallet, body, once }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const append = () => once(async (tx) => reply(201, await withinQuota(app, tx, 'records', wallet, () => appendRecord(tx, wallet, game.id, body))));
    // The quota locks a row per wallet, so the requests of a wallet take turns, also in different games.
    return await inTurn(app, `record ${wallet}`, append);
  },
});

/** Maximum records per page. It is small, because each record may have 256 KB. */
const MAX_PAGE = 20;

const records = route({
  method: 'get',
  path: '/game/{id}/records',
  auth: 'session',
  summary: 'List the caller’s records of a game, newest first',
  description: `At most ${MAX_PAGE} records per page. The salt and the content of an erased record are null; its hashes remain.`,
  params: GamePath,
  query: PageQuery.extend({ limit: PageQuery.shape.limit.unwrap().max(MAX_PAGE).default(MAX_PAGE).meta({ description: 'Maximum number of rows.' }) }),
  returns: { 200: z.array(RecordView) },
  fails: [404],
  handler: async ({ app, params, wallet, query }) => {
    const game = await findGame(app, params.id);
    if (!game) throw fail(404, 'no such game');
    const { records: page, total } = await listRecords(app.db, wallet, game.id, query);
    return reply(200, page, { 'X-Total-Count': String(total) });
  },
});

export const recordRoutes = [record, records];
