import type Koa from 'koa';
import { z } from 'zod';
import { hasVersion } from '#platform/http/conditional.ts';
import { jsonOrStream, reply, route } from '#platform/http/route.ts';
import { auditFile, entryFile, glanceAt, listEntries, type PublicFile } from '../published.ts';
import { EntriesQuery, EntryView, RoundAudit } from '../results-schemas.ts';
import type { RoundKind } from '../rows.ts';
import { RoundPath } from '../schemas.ts';

/** What may change is asked for anew each time; what never does is kept. */
export const FRESH = 'no-cache';
export const FOREVER = 'public, max-age=31536000, immutable';

function send(ctx: Koa.Context, { etag, isFinal, open }: PublicFile) {
  const headers = { ETag: etag, 'Cache-Control': isFinal ? FOREVER : FRESH };
  return hasVersion(ctx, etag) ? reply(304, null, headers) : reply(200, open(), headers);
}

/** What rounds of both kinds publish whole: their entries, and their audit. */
function filesOf(kind: RoundKind, path: string) {
  const entries = route({
    method: 'get',
    path: `${path}/entries`,
    auth: 'public',
    summary: kind === 'chat' ? 'The entries of a chat round' : 'The tickets of a legacy round',
    description:
      'By index, which is the order in which they were accepted; while the round is active, as far as it has come. `format=ndjson`, from closing on: ' +
      'all of them, a line each of canonical JSON (RFC 8785) without `id` and `leaf`, exactly what the leaves of the root are made of.',
    params: RoundPath,
    query: EntriesQuery,
    returns: { 200: jsonOrStream(z.array(EntryView), 'application/x-ndjson'), 304: null },
    fails: [404],
    cache: FRESH,
    handler: async ({ app, params, query, ctx }) => {
      if (query.format === 'ndjson') return send(ctx, await entryFile(app, kind, params.id));
      const [round, listed] = await Promise.all([glanceAt(app.db, kind, params.id), listEntries(app.db, params.id, query.limit, query.offset)]);
      return reply(200, listed, { 'X-Total-Count': String(round.entries) });
    },
  });
  const audit = route({
    method: 'get',
    path: `${path}/audit`,
    auth: 'public',
    summary: kind === 'chat' ? 'All that decides a chat round' : 'All that decides a legacy round',
    description:
      'From the moment that the entries are frozen and their tree is computed; later parts (commitment, beacon, draw, winners) are null until they exist. ' +
      'Once the round is finalized or void it never changes. `entryHashes` comes last and is streamed: there is one for each entry.',
    params: RoundPath,
    returns: { 200: jsonOrStream(RoundAudit, 'application/json'), 304: null },
    fails: [404],
    cache: FRESH,
    handler: async ({ app, params, ctx }) => send(ctx, await auditFile(app, kind, params.id)),
  });
  return [entries, audit] as const;
}

export const roundFileRoutes = [...filesOf('chat', '/chat/round/{id}'), ...filesOf('legacy', '/round/{id}')];
