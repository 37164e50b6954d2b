import type Koa from 'koa';
import { z } from 'zod';
import { matchesETag } from '#platform/http/conditional.ts';
import { jsonOrStream, reply, route } from '#platform/http/route.ts';
import { auditFile, entryFile, listEntries, type PublicFile, readRoundStatus } from '../published.ts';
import { EntriesQuery, EntryView, RoundAudit } from '../results-schemas.ts';
import type { RoundKind } from '../rows.ts';
import { RoundPath } from '../schemas.ts';
import { IMMUTABLE, REVALIDATE } from './cache-control.ts';

function send(ctx: Koa.Context, { etag, isFinal, open }: PublicFile) {
  const headers = { ETag: etag, 'Cache-Control': isFinal ? IMMUTABLE : REVALIDATE };
  return matchesETag(ctx, etag) ? reply(304, null, headers) : reply(200, open(), headers);
}

/** Creates the routes of the published files of one kind of round: the entries and the audit. */
function filesOf(kind: RoundKind, path: string) {
  const entries = route({
    method: 'get',
    path: `${path}/entries`,
    auth: 'public',
    load: 'costly',
    summary: kind === 'chat' ? 'The entries of a chat round' : 'The tickets of a legacy round',
    description:
      'A page of the accepted entries, ordered by index; also available while the round is active. With `format=ndjson`, when the round is closed: ' +
      'all entries, one line of canonical JSON (RFC 8785) per entry, without `id` and `leaf`. The leaf hashes cover exactly these fields.',
    params: RoundPath,
    query: EntriesQuery,
    returns: { 200: jsonOrStream(z.array(EntryView), 'application/x-ndjson'), 304: null },
    fails: [404],
    cache: REVALIDATE,
    handler: async ({ app, params, query, ctx }) => {
      if (query.format === 'ndjson') return send(ctx, await entryFile(app, kind, params.id));
      const [round, listed] = await Promise.all([
        readRoundStatus(app.db, kind, params.id),
        listEntries(app.db, params.id, query.limit, query.offset),
      ]);
      return reply(200, listed, { 'X-Total-Count': String(round.entries) });
    },
  });
  const audit = route({
    method: 'get',
    path: `${path}/audit`,
    auth: 'public',
    load: 'costly',
    summary: kind === 'chat' ? 'The audit of a chat round' : 'The audit of a legacy round',
    description:
      'All inputs and results of the draw, for verification. Available when the entries are frozen and their tree is computed. Later parts (commitment, ' +
      'beacon, draw, winners) are null until they exist. The audit of a finalized or void round never changes.',
    params: RoundPath,
    returns: { 200: jsonOrStream(RoundAudit, 'application/json'), 304: null },
    fails: [404],
    cache: REVALIDATE,
    handler: async ({ app, params, ctx }) => send(ctx, await auditFile(app, kind, params.id)),
  });
  return [entries, audit] as const;
}

export const roundFileRoutes = [...filesOf('chat', '/chat/round/{id}'), ...filesOf('legacy', '/round/{id}')];
