import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './build.ts';
import { appendPoints, LEDGER_CAUSES, type LedgerEntry, type OpenDay } from './ledger.ts';
import { type Mode, scheduleRefresh } from './standings.ts';

/** The unique key of a ledger row. */
interface LedgerKey {
  source: string;
  reason: string;
  mode: Mode;
  wallet: string;
  sourceId: string;
}

/** A ledger row, as operators see it. */
export interface StoredEntry extends LedgerKey {
  kind: LedgerEntry['kind'];
  points: number;
  rewards: boolean;
  factors: Record<string, unknown> | null;
  /** UTC day number on which the entry counts. */
  day: number;
  /** Time of the entry, ISO 8601 in UTC. */
  at: string;
  /** Whether an entry of the reason `revoke` compensates this entry. */
  isRevoked: boolean;
}

/** The reason of an entry that compensates another entry with the same source, source id, wallet and mode. */
export const REVOKE = 'revoke';

/** Returns the id of a ledger row: its unique key in one text. The table needs no column for the id. */
export const ledgerId = ({ source, reason, mode, wallet, sourceId }: LedgerKey): string => [source, reason, mode, wallet, sourceId].join(':');

const isMode = (text: string): text is Mode => text === 'regular' || text === 'beta';

/** Returns the key in the id of a ledger row; null for a text that is no such id. */
function parseLedgerId(id: string): LedgerKey | null {
  const [source = '', reason = '', mode = '', wallet = '', ...rest] = id.split(':');
  const sourceId = rest.join(':');
  const isKnown = LEDGER_CAUSES.some((cause) => cause.source === source && cause.reason === reason);
  if (!isKnown || !isMode(mode) || decodeBase58(wallet)?.length !== 32 || !/^[\w:.-]{1,200}$/.test(sourceId)) return null;
  return { source, reason, mode, wallet, sourceId };
}

/** Returns SQL of the UTC day of a cause, so that PostgreSQL looks into one partition. */
const dayOfCause = ({ source, sourceId }: Pick<LedgerKey, 'source' | 'sourceId'>) => sql<number>`cause_day(${source}, ${sourceId})`;

const entries = build
  .selectFrom('ledger as l')
  .select(['source', 'reason', 'mode', 'wallet', 'source_id as sourceId', 'kind', 'rewards', 'day', isoInstant('at').as('at')])
  .select([sql<number>`points::float8`.as('points'), sql<StoredEntry['factors']>`factors`.as('factors')])
  .select(({ exists, selectFrom }) =>
    exists(
      selectFrom('ledger as r')
        .select('r.reason')
        .whereRef('r.source_id', '=', 'l.source_id')
        .whereRef('r.source', '=', 'l.source')
        .whereRef('r.wallet', '=', 'l.wallet')
        .where('r.reason', '=', REVOKE)
        .whereRef('r.mode', '=', 'l.mode')
        .whereRef('r.cause_day', '=', 'l.cause_day')
        .whereRef('l.reason', '<>', 'r.reason'),
    )
      .$castTo<boolean>()
      .as('isRevoked'),
  );

/**
 * Reads a ledger row.
 * @param id the result of `ledgerId`
 * @throws 404 when no row has this id
 */
export async function readLedgerEntry(db: Queryable, id: string): Promise<StoredEntry> {
  const key = parseLedgerId(id);
  const [entry] = key
    ? await run(
        db,
        entries
          .where('source_id', '=', key.sourceId)
          .where('cause_day', '=', dayOfCause(key))
          .where('source', '=', key.source)
          .where('wallet', '=', key.wallet)
          .where('reason', '=', key.reason)
          .where('mode', '=', key.mode),
      )
    : [];
  if (!entry) throw fail(404, 'there is no such ledger entry');
  return entry;
}

/** Reads a page of a wallet's ledger rows, newest first, and their number. Uses the index `ledger_wallet`. */
export async function listLedgerEntries(
  db: Queryable,
  { wallet, source }: { wallet: string; source?: string | undefined },
  limit: number,
  offset: number,
): Promise<{ entries: StoredEntry[]; total: number }> {
  const ofSource = { wallet, ...(source === undefined ? {} : { source }) };
  const page = entries
    .where(({ and }) => and(ofSource))
    .orderBy('l.at', 'desc')
    .orderBy('source_id', 'desc')
    .orderBy('source')
    .orderBy('reason', 'desc')
    .orderBy('mode');
  const count = build
    .selectFrom('ledger')
    .select(sql<number>`count(*)::int`.as('n'))
    .where(({ and }) => and(ofSource));
  const [rows, [counted]] = await Promise.all([run(db, page.limit(limit).offset(offset)), run(db, count)]);
  return { entries: rows, total: counted?.n ?? 0 };
}

/** Reads the entries of one cause and reason, of all wallets and modes. */
export async function readEntriesOfCause(db: Queryable, { source, sourceId, reason }: Omit<LedgerKey, 'wallet' | 'mode'>): Promise<StoredEntry[]> {
  const ofCause = entries
    .where('source_id', '=', sourceId)
    .where('cause_day', '=', dayOfCause({ source, sourceId }))
    .where('source', '=', source)
    .where('reason', '=', reason);
  return await run(db, ofCause.orderBy('wallet').orderBy('mode').limit(100));
}

/** Author and reason of a change of the ledger by an operator. */
export interface Operation {
  /** Name of the admin token. */
  by: string;
  /** Reason, in one line. */
  note: string;
}

const REVOCABLE = LEDGER_CAUSES.filter(({ reason }) => reason === REVOKE);

/**
 * Appends entries that compensate other entries, on the current day and with the `rewards` flag of the originals, so that an epoch that counted the
 * points counts the compensation as well.
 * @returns the ids of the new entries, in the order of `originals`
 * @throws 409 when one of the originals is revoked already; the caller must then roll the transaction back
 */
export async function revokeEntries(tx: Tx, open: OpenDay, originals: readonly StoredEntry[], { by, note }: Operation): Promise<string[]> {
  const compensating = originals.map((original): LedgerEntry => {
    const cause = REVOCABLE.find(({ source, kind }) => source === original.source && kind === original.kind);
    if (!cause) throw new Error(`an entry of the source ${original.source} cannot be revoked`);
    const { wallet, mode, sourceId, points, rewards, factors } = original;
    return { ...cause, wallet, mode, sourceId, points: -points, rewards, factors: { ...factors, by, note } };
  });
  // The ledger skips an entry that exists. So if every original is new, the standings of every original change.
  for (const entry of compensating) {
    const changed = await appendPoints(tx, open, [entry]);
    if (changed.length === 0) throw fail(409, 'the entry is revoked already');
    await scheduleRefresh(tx, changed);
  }
  return compensating.map(ledgerId);
}

/** Points that an operator gives to a wallet, or takes from it. */
export interface Adjustment extends Operation {
  wallet: string;
  mode: Mode;
  /** Negative to take points. */
  points: number;
  /** Whether reward epochs count the points. */
  rewards: boolean;
}

/** Appends an adjustment. @param id a new UUIDv7 @returns the id of the ledger entry */
export async function appendAdjustment(tx: Tx, open: OpenDay, id: string, { by, note, ...adjustment }: Adjustment): Promise<string> {
  const entry = { ...adjustment, source: 'adjustment', kind: 'adjustment', reason: 'adjustment', sourceId: id, factors: { by, note } } as const;
  await scheduleRefresh(tx, await appendPoints(tx, open, [entry]));
  return ledgerId(entry);
}
