import { Readable } from 'node:stream';
import type { VoidReason } from '#lib/draw/audit.ts';
import { type Entry, entryLeaf } from '#lib/draw/entry.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { encodeBody } from '#platform/http/cached-body.ts';
import { entryLines } from './entries-file.ts';
import { build, type RoundKind, type RoundState } from './rows.ts';

/** The fields of a round that decide which of its results are available. */
export interface RoundStatus {
  readonly id: string;
  readonly state: RoundState;
  readonly voidReason: VoidReason | null;
  readonly entries: number;
  /** Hex. */
  readonly root: string | null;
}
const selectGlance = statement<RoundStatus>(
  'read_round_status',
  `select id::text, state, void_reason as "voidReason", entries, encode(root, 'hex') as root from rounds where id = $1 and kind = $2`,
);

/** Reads the status of a round. @throws 404 when no round has this id and kind */
export async function readRoundStatus(db: Queryable, kind: RoundKind, id: string): Promise<RoundStatus> {
  const round = (await db.query(selectGlance, [id, kind]))[0];
  if (!round) throw roundNotFound(kind, id);
  return round;
}

export const roundNotFound = (kind: RoundKind, id: string) => fail(404, `there is no ${kind === 'chat' ? 'chat' : 'legacy'} round ${id}`);

/**
 * Creates the 404 error for a result that a round does not have yet or will never have. The message names the round's state.
 * @param result name of the missing data in the message (for example `winners`)
 * @param since clause of the message that says when the data becomes available
 */
export function notAvailable({ id, state, voidReason }: Pick<RoundStatus, 'id' | 'state' | 'voidReason'>, result: string, since: string) {
  if (state === 'void') return fail(404, `round ${id} is void (${voidReason}) and has no ${result}`);
  return fail(404, `round ${id} is ${state}; it has ${result} ${since}`);
}

/** An entry as returned in a page of a round's entries. */
interface ListedEntry extends Entry {
  readonly id: string;
  readonly leaf: string;
}
const AT = instant('at');
// Indexes have no gaps, so the offset of an entry equals its index.
const selectPage = statement<Omit<ListedEntry, 'leaf'>>(
  'select_entries_page',
  `select id::text, index, wallet, numbers, source, message_id as "messageId", ${AT} as at
   from entries where round = $1 and index >= $2 order by index limit $3`,
);

/** Reads a page of a round's entries, ordered by index. The round may still be open. */
export async function listEntries(db: Queryable, round: string, limit: number, offset: number): Promise<ListedEntry[]> {
  const rows = await db.query(selectPage, [round, offset, limit]);
  return rows.map((row) => {
    const { id, ...entry } = row;
    return { ...row, leaf: entryLeaf(round, entry) };
  });
}

/** A file that is streamed from the database. `isFinal` means that the content of the file never changes. */
export interface PublicFile {
  readonly etag: string;
  readonly isFinal: boolean;
  open(): Readable;
}

/**
 * Creates a stream that reads one chunk at a time, so that a slow client does not fill the memory and the queries end when the client disconnects.
 */
const streamed = (chunks: AsyncGenerator<string>) => Readable.from(chunks, { objectMode: false, highWaterMark: 1 });

const hasEnded = (state: RoundState) => state === 'finalized' || state === 'void';

/**
 * Streams all entries of a frozen round as NDJSON: one line per entry in the format of `entryLine`, ordered by index.
 * @throws 404 when the round does not exist or still takes entries
 */
export async function entryFile({ db }: Pick<App, 'db'>, kind: RoundKind, id: string): Promise<PublicFile> {
  const { state, entries, voidReason } = await readRoundStatus(db, kind, id);
  if (state === 'pending' || state === 'active') throw notAvailable({ id, state, voidReason }, 'published entries', 'when it is closed');
  return { etag: `"entries-${id}-${state}-${entries}"`, isFinal: hasEnded(state), open: () => streamed(entryLines(db, id)) };
}

const HASHES_PER_CHUNK = 4_096;
const HASH_BYTES = 32;
const selectHashes = statement<{ hashes: string }>(
  'select_entry_hashes',
  `select encode(substring(nodes from $2 for ${HASHES_PER_CHUNK * HASH_BYTES}), 'hex') as hashes from round_levels where round = $1 and level = 0`,
);

/**
 * Streams the audit of a round as JSON: the stored text with the hashes of all entries inserted before its last brace.
 * @throws 404 when the round does not exist or has no audit yet
 */
export async function auditFile({ db }: Pick<App, 'db'>, kind: RoundKind, id: string): Promise<PublicFile> {
  const audits = build.selectFrom('rounds').select(['state', 'void_reason as voidReason', 'audit']);
  const [round] = await run(db, audits.where('id', '=', id).where('kind', '=', kind));
  if (!round) throw roundNotFound(kind, id);
  const { state, audit } = round;
  if (audit === null) throw notAvailable({ id, ...round }, 'an audit', 'when its entries are frozen and their tree is computed');
  async function* chunks(head: string): AsyncGenerator<string> {
    yield `${head},"entryHashes":[`;
    for (let from = 0; ; from += HASHES_PER_CHUNK) {
      // A round without entries has no tree, so the query returns no row.
      const hashes = (await db.query(selectHashes, [id, from * HASH_BYTES + 1]))[0]?.hashes ?? '';
      const quoted = hashes.replace(/.{64}/g, ',"$&"');
      if (quoted !== '') yield from === 0 ? quoted.slice(1) : quoted;
      if (hashes.length < 2 * HASH_BYTES * HASHES_PER_CHUNK) break;
    }
    yield ']}';
  }
  const { etag } = encodeBody(audit);
  return { etag: `"${etag}"`, isFinal: hasEnded(state), open: () => streamed(chunks(audit.slice(0, -1))) };
}
