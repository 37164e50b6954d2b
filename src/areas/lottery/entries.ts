import type { Entry } from '#lib/draw/entry.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import { faultOf } from '#lib/draw/rules.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { newEntry } from './events.ts';
import type { RoundKind, RoundState } from './rows.ts';

/** A round whose row this transaction holds: nobody else adds entries, and it is not frozen meanwhile. */
export interface LockedRound {
  readonly id: string;
  readonly kind: RoundKind;
  readonly state: RoundState;
  readonly parameters: RoundParameters;
  /** The next index. */
  entries: number;
  /** The record's clock after the lock was had, and when the round closes, ms since 1970. */
  readonly now: number;
  readonly closesAt: number;
}

type LockRow = Omit<LockedRound, 'now'>;
const LOCKED = `id::text, kind, state, parameters, entries, (extract(epoch from closes_at) * 1000)::float8 as "closesAt"`;
const lockActiveChat = statement<LockRow>(
  'lock_active_chat_round',
  `select ${LOCKED} from rounds where kind = 'chat' and state = 'active' for update`,
);
const lockOne = statement<LockRow>('lock_round', `select ${LOCKED} from rounds where id = $1 and parameters is not null for update`);
const readClock = statement<{ now: number }>('read_clock_ms', `select floor(extract(epoch from app_now()) * 1000)::float8 as now`);

// The clock is read by a statement of its own: the lock's would read it before it waits.
async function lock(tx: Queryable, locking: Promise<LockRow[]>): Promise<LockedRound | null> {
  const [[row], [clock]] = await Promise.all([locking, tx.query(readClock)]);
  return row && clock ? { ...row, now: clock.now } : null;
}

/** Locks the chat round that is active; null where none is. */
export const lockActiveRound = (tx: Queryable): Promise<LockedRound | null> => lock(tx, tx.query(lockActiveChat));

/** Locks a round that has been opened; null where there is none of that id. */
export const lockRound = (tx: Queryable, id: string): Promise<LockedRound | null> => lock(tx, tx.query(lockOne, [id]));

/** Whether a locked round accepts entries at this moment. */
export const takesEntries = (round: LockedRound): boolean => round.state === 'active' && round.now < round.closesAt;

/** What is to become an entry. */
export interface NewEntry extends Omit<Entry, 'index'> {
  readonly id: string;
}
/** An entry that was accepted. */
export interface AcceptedEntry extends Entry {
  readonly id: string;
  readonly round: string;
}

// Numbers go as JSON: arrays of arrays of different lengths are none of PostgreSQL's.
const insert = statement(
  'insert_entries',
  `insert into entries (round, index, id, wallet, numbers, source, message_id, at)
   select $1::uuid, $2::int + n - 1, e.id, e.wallet, array(select jsonb_array_elements_text(e.numbers)::smallint), e.source, e.message_id, e.at
   from unnest($3::uuid[], $4::text[], $5::jsonb[], $6::text[], $7::text[], $8::timestamptz[]) with ordinality as e(id, wallet, numbers, source, message_id, at, n)`,
);
const count = statement('count_entries', 'update rounds set entries = $2 where id = $1');

/**
 * Appends entries to a locked round, in their order, and tells everybody. They must keep its rules: nothing is checked here but
 * what the record's constraints check.
 */
export async function appendEntries(tx: Tx, round: LockedRound, entries: readonly NewEntry[]): Promise<AcceptedEntry[]> {
  if (entries.length === 0) return [];
  const accepted = entries.map((entry, i): AcceptedEntry => ({ ...entry, round: round.id, index: round.entries + i }));
  const column = <Key extends keyof NewEntry>(key: Key) => entries.map((entry) => entry[key]);
  const numbers = entries.map((entry) => JSON.stringify(entry.numbers));
  const first = round.entries;
  round.entries += entries.length;
  await Promise.all([
    tx.query(insert, [round.id, first, column('id'), column('wallet'), numbers, column('source'), column('messageId'), column('at')]),
    tx.query(count, [round.id, round.entries]),
  ]);
  tx.emitAll(
    newEntry,
    accepted.map(({ id, index, wallet, numbers }) => ({ roundId: round.id, kind: round.kind, entryId: id, index, wallet, numbers })),
  );
  return accepted;
}

/** A message that asks to be an entry of the active chat round. */
export interface Candidate {
  /** Of the entry to be; numbers that are not given are derived from it. */
  readonly id: string;
  readonly wallet: string;
  /** As asked for, in any order; null: to be derived. */
  readonly numbers: readonly number[] | null;
  readonly source: string;
  readonly messageId: string;
}

/** An entry, or in one sentence why not. */
export type Acceptance = { readonly entry: AcceptedEntry } | { readonly status: 400 | 409; readonly error: string };

const perWallet = statement<{ wallet: string; n: number }>(
  'count_entries_of_wallets',
  // One look into the index per wallet, also where the plan was made while the table was small.
  `select k.wallet, c.n from unnest($2::text[]) as k(wallet),
     lateral (select count(*)::int as n from entries where round = $1 and wallet = k.wallet offset 0) c`,
);

/**
 * Judges and accepts a batch of candidates in their order, in the transaction that locked the active round (`lockActiveRound`). What
 * is refused takes no number and leaves no trace.
 * @param round null where no round is active
 * @returns one answer per candidate
 */
export async function acceptEntries(tx: Tx, round: LockedRound | null, candidates: readonly Candidate[]): Promise<Acceptance[]> {
  if (candidates.length === 0) return [];
  if (!round || !takesEntries(round) || round.parameters.kind !== 'chat') {
    return candidates.map(() => ({ status: 409, error: 'no round takes entries at the moment' }));
  }
  const { parameters } = round;
  const counts = await tx.query(perWallet, [round.id, [...new Set(candidates.map(({ wallet }) => wallet))]]);
  const own = new Map(counts.map(({ wallet, n }) => [wallet, n]));
  const at = new Date(round.now).toISOString();
  const taken: NewEntry[] = [];
  const judged = candidates.map((candidate): number | Exclude<Acceptance, { entry: unknown }> => {
    const { id, wallet, source, messageId } = candidate;
    const numbers = candidate.numbers?.toSorted((a, b) => a - b) ?? derivedNumbers(id, wallet, parameters);
    const fault = faultOf(parameters, numbers);
    if (fault !== null) return { status: 400, error: `the numbers of an entry ${fault}` };
    const before = own.get(wallet) ?? 0;
    if (before >= parameters.maxEntriesPerWallet) {
      return { status: 409, error: `a wallet has at most ${parameters.maxEntriesPerWallet} entries in this round` };
    }
    own.set(wallet, before + 1);
    return taken.push({ id, wallet, numbers, source, messageId, at }) - 1;
  });
  const accepted = await appendEntries(tx, round, taken);
  return judged.map((one) => {
    if (typeof one !== 'number') return one;
    const entry = accepted[one];
    if (!entry) throw new Error('an entry that was taken is missing');
    return { entry };
  });
}

const selectEntries = statement<Entry>(
  'select_entries_of_round',
  `select index, wallet, numbers, source, message_id as "messageId", ${instant('at')} as at
   from entries where round = $1 and index >= $2 order by index limit $3`,
);
/** Entries that one read takes. */
const CHUNK = 10_000;

/** The entries of a round by index, as they are published, a chunk at a time. */
export async function* entryChunks(db: Queryable, round: string): AsyncGenerator<Entry[]> {
  for (let from = 0; ; from += CHUNK) {
    const chunk = await db.query(selectEntries, [round, from, CHUNK]);
    if (chunk.length > 0) yield chunk;
    if (chunk.length < CHUNK) return;
  }
}

/** All entries of a round, by index. */
export async function readEntries(db: Queryable, round: string): Promise<Entry[]> {
  const chunks: Entry[][] = [];
  for await (const chunk of entryChunks(db, round)) chunks.push(chunk);
  return chunks.flat();
}
