import { Readable } from 'node:stream';
import type { VoidReason } from '#lib/draw/audit.ts';
import { type Entry, entryLeaf } from '#lib/draw/entry.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { encoded } from '#platform/http/cached-body.ts';
import type { RoundKind, RoundState } from './rows.ts';

/** What every read of a round's results begins with. */
export interface Glance {
  readonly id: string;
  readonly state: RoundState;
  readonly voidReason: VoidReason | null;
  readonly entries: number;
  /** Hex. */
  readonly root: string | null;
}
const selectGlance = statement<Glance>(
  'glance_at_round',
  `select id::text, state, void_reason as "voidReason", entries, encode(root, 'hex') as root from rounds where id = $1 and kind = $2`,
);

/** @throws 404 where there is no round of this id and kind */
export async function glanceAt(db: Queryable, kind: RoundKind, id: string): Promise<Glance> {
  const round = (await db.query(selectGlance, [id, kind]))[0];
  if (!round) throw noRound(kind, id);
  return round;
}

export const noRound = (kind: RoundKind, id: string) => fail(404, `there is no ${kind === 'chat' ? 'chat' : 'legacy'} round ${id}`);

/** What is not there yet, or will never be: 404 with the round's state. */
export function notThere({ id, state, voidReason }: Pick<Glance, 'id' | 'state' | 'voidReason'>, what: string, since: string) {
  if (state === 'void') return fail(404, `round ${id} is void (${voidReason}) and has no ${what}`);
  return fail(404, `round ${id} is ${state}: it has ${what} ${since}`);
}

/** An entry as it is listed. */
export interface ListedEntry extends Entry {
  readonly id: string;
  readonly leaf: string;
}
const AT = instant('at');
// Indexes have no gaps: an offset is an index.
const selectPage = statement<Omit<ListedEntry, 'leaf'>>(
  'select_entries_page',
  `select id::text, index, wallet, numbers, source, message_id as "messageId", ${AT} as at
   from entries where round = $1 and index >= $2 order by index limit $3`,
);

/** Some of a round's entries, by index, also while more are accepted. */
export async function listEntries(db: Queryable, round: string, limit: number, offset: number): Promise<ListedEntry[]> {
  const rows = await db.query(selectPage, [round, offset, limit]);
  return rows.map((row) => {
    const { id, ...entry } = row;
    return { ...row, leaf: entryLeaf(round, entry) };
  });
}

/** A file that is written as it is read, and what names its version; `isFinal`: there will be no other. */
export interface PublicFile {
  readonly etag: string;
  readonly isFinal: boolean;
  open(): Readable;
}

/** One chunk at a time: a slow reader holds nothing, and a gone one stops it. */
const streamed = (chunks: AsyncGenerator<string>) => Readable.from(chunks, { objectMode: false, highWaterMark: 1 });

/** Some 400 KB of text. */
const ENTRIES_AT_ONCE = 2_000;
// The database writes the lines, which takes a tenth of what rows would: those of `entryLine`, keys in order, without white space.
const selectLines = statement<{ lines: string; next: number }>(
  'select_entry_lines',
  `select string_agg('{"at":"' || ${AT} || '","index":' || index || ',"messageId":' || to_json(message_id) || ',"numbers":' || array_to_json(numbers)
            || ',"source":' || to_json(source) || ',"wallet":"' || wallet || E'"}\\n', '' order by index) as lines, max(index) + 1 as next
   from (select * from entries where round = $1 and index >= $2 order by index limit ${ENTRIES_AT_ONCE}) chunk having count(*) > 0`,
);

const isOver = (state: RoundState) => state === 'finalized' || state === 'void';

/**
 * All entries of a round that is frozen, as NDJSON: the lines of `entryLine`, by index.
 * @throws 404 no such round, or one that still takes entries
 */
export async function entryFile({ db }: Pick<App, 'db'>, kind: RoundKind, id: string): Promise<PublicFile> {
  const { state, entries, voidReason } = await glanceAt(db, kind, id);
  if (state === 'pending' || state === 'active') throw notThere({ id, state, voidReason }, 'published entries', 'from its closing on');
  async function* lines(): AsyncGenerator<string> {
    for (let next = 0; ; ) {
      const chunk = (await db.query(selectLines, [id, next]))[0];
      if (!chunk) return;
      yield chunk.lines;
      next = chunk.next;
    }
  }
  return { etag: `"entries-${id}-${state}-${entries}"`, isFinal: isOver(state), open: () => streamed(lines()) };
}

const selectAudit = statement<Pick<Glance, 'state' | 'voidReason'> & { audit: string | null }>(
  'select_audit',
  `select state, void_reason as "voidReason", audit from rounds where id = $1 and kind = $2`,
);
const HASHES_AT_ONCE = 4_096;
const HASH_BYTES = 32;
const selectHashes = statement<{ hashes: string }>(
  'select_entry_hashes',
  `select encode(substring(nodes from $2 for ${HASHES_AT_ONCE * HASH_BYTES}), 'hex') as hashes from round_levels where round = $1 and level = 0`,
);

/**
 * The audit of a round as JSON: what is stored, and put before its last brace the hashes of all entries, read as they are taken.
 * @throws 404 no such round, or one that has no audit yet
 */
export async function auditFile({ db }: Pick<App, 'db'>, kind: RoundKind, id: string): Promise<PublicFile> {
  const round = (await db.query(selectAudit, [id, kind]))[0];
  if (!round) throw noRound(kind, id);
  const { state, audit } = round;
  if (audit === null) throw notThere({ id, ...round }, 'an audit', 'as soon as its entries are frozen and their tree is computed');
  async function* chunks(head: string): AsyncGenerator<string> {
    yield `${head},"entryHashes":[`;
    for (let from = 0; ; from += HASHES_AT_ONCE) {
      // No entries, no tree.
      const hashes = (await db.query(selectHashes, [id, from * HASH_BYTES + 1]))[0]?.hashes ?? '';
      const quoted = hashes.replace(/.{64}/g, ',"$&"');
      if (quoted !== '') yield from === 0 ? quoted.slice(1) : quoted;
      if (hashes.length < 2 * HASH_BYTES * HASHES_AT_ONCE) break;
    }
    yield ']}';
  }
  const { etag } = encoded(audit);
  return { etag: `"${etag}"`, isFinal: isOver(state), open: () => streamed(chunks(audit.slice(0, -1))) };
}
