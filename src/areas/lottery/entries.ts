import { HASH_BYTES, instantOf, millis } from '#lib/draw/bytes.ts';
import { type Entry, entryLeaves } from '#lib/draw/entry.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import { runningHashes } from '#lib/draw/round-leaf.ts';
import { numbersError } from '#lib/draw/rules.ts';
import type { SignedAnnouncement } from '#lib/draw/statements.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type EntryBalance, type RuleRefusal, refusedWallets } from './entry-rules.ts';
import { newEntry } from './events.ts';
import { restrictedWallets } from './restrictions/restrictions.ts';
import { type RoundKind, type RoundState, readDatabaseClock } from './rows.ts';

/** A round whose row this transaction has locked, so that no other transaction adds entries or freezes the round. */
export interface LockedRound {
  readonly id: string;
  readonly kind: RoundKind;
  readonly state: RoundState;
  readonly parameters: RoundParameters;
  /** Hex. */
  readonly parametersHash: string;
  readonly announcement: SignedAnnouncement;
  /** Number of entries. Indexes begin at 0, so this number is also the index of the next entry. */
  entries: number;
  /** Running hash after the last entry. */
  runningHash: Buffer;
  /** Time of the last entry, ms since 1970; null before the first entry. */
  lastEntryAt: number | null;
  /** The database's clock after the lock was acquired, ms since 1970. */
  readonly now: number;
  /** Closing time, ms since 1970. */
  readonly closesAt: number;
}

type LockRow = Omit<LockedRound, 'now'>;
const LOCKED = `id::text, kind, state, parameters, parameters_hash as "parametersHash", announcement, entries, running_hash as "runningHash",
  (extract(epoch from last_entry_at) * 1000)::float8 as "lastEntryAt", (extract(epoch from closes_at) * 1000)::float8 as "closesAt"`;
const lockActiveChat = statement<LockRow>(
  'lock_active_chat_round',
  `select ${LOCKED} from rounds where kind = 'chat' and state = 'active' for update`,
);
const lockOne = statement<LockRow>('lock_round', `select ${LOCKED} from rounds where id = $1 and parameters is not null for update`);

// Reads the clock in a second statement, after the lock is acquired. The locking statement itself would return the time at which it began to wait.
async function lock(tx: Queryable, locking: Promise<LockRow[]>): Promise<LockedRound | null> {
  const [[row], now] = await Promise.all([locking, readDatabaseClock(tx)]);
  return row ? { ...row, now } : null;
}

/** Locks the active chat round. Returns null when no round is active. */
export const lockActiveRound = (tx: Queryable): Promise<LockedRound | null> => lock(tx, tx.query(lockActiveChat));

/** Locks a round that was opened. Returns null when no opened round has this id. */
export const lockRound = (tx: Queryable, id: string): Promise<LockedRound | null> => lock(tx, tx.query(lockOne, [id]));

/** Returns whether a locked round accepts entries now. */
export const takesEntries = (round: LockedRound): boolean => round.state === 'active' && round.now < round.closesAt;

/** An entry before it gets its index and its time. */
interface NewEntry extends Omit<Entry, 'index' | 'at'> {
  readonly id: string;
}
/** An entry with all values of its receipt. */
export interface AcceptedEntry extends Entry {
  readonly id: string;
  readonly round: string;
  /** Address of the draws account. */
  readonly draws: string;
  /** Hash of the round's parameters, hex. */
  readonly parametersHash: string;
  /** Running hash after this entry, hex. */
  readonly runningHash: string;
}

/** SQL expression of an `AcceptedEntry` as JSON, from a row `e` of the table `entries` and the row `r` of its round. */
export const ACCEPTED_ENTRY = `json_build_object('id', e.id, 'round', e.round, 'draws', r.parameters->>'draws', 'parametersHash', r.parameters_hash,
  'runningHash', encode(e.running_hash, 'hex'), 'index', e.index, 'wallet', e.wallet, 'numbers', e.numbers, 'source', e.source,
  'messageId', e.message_id, 'at', ${instant('e.at')})`;

// Passes the numbers of each entry as JSON, because a PostgreSQL array cannot contain arrays of different lengths.
const insert = statement(
  'insert_entries',
  `insert into entries (round, index, id, wallet, numbers, source, message_id, at, running_hash)
   select $1::uuid, $2::int + n - 1, e.id, e.wallet, array(select jsonb_array_elements_text(e.numbers)::smallint), e.source, e.message_id, $8::timestamptz, e.hash
   from unnest($3::uuid[], $4::text[], $5::jsonb[], $6::text[], $7::text[], $9::bytea[]) with ordinality as e(id, wallet, numbers, source, message_id, hash, n)`,
);
const count = statement('count_entries', 'update rounds set entries = $2, running_hash = $3, last_entry_at = $4 where id = $1');

/**
 * Appends entries to a locked round, in their order, and emits an event for each entry. Their time is the time of this call, but not before the last
 * entry or the opening of the round, even if the clock was set back. It is before the closing time also for a ticket whose payment was made in time
 * and is checked later. Precondition: the entries follow the rules of the round, because this function checks only the constraints of the table.
 */
export async function appendEntries(tx: Tx, round: LockedRound, entries: readonly NewEntry[]): Promise<AcceptedEntry[]> {
  if (entries.length === 0) return [];
  const { id: roundId, parametersHash } = round;
  const time = Math.max(Math.min(round.now, round.closesAt - 1), round.lastEntryAt ?? millis(round.parameters.opensAt));
  const at = instantOf(time);
  const indexed = entries.map((entry, i) => ({ ...entry, index: round.entries + i, at }));
  const hashes = Buffer.from(runningHashes(round.runningHash, entryLeaves(roundId, indexed)));
  const hashOf = (i: number) => hashes.subarray(HASH_BYTES * i, HASH_BYTES * (i + 1));
  const named = { round: roundId, draws: round.parameters.draws, parametersHash };
  const accepted = indexed.map((entry, i): AcceptedEntry => ({ ...entry, ...named, runningHash: hashOf(i).toString('hex') }));
  const column = <Key extends keyof NewEntry>(key: Key) => entries.map((entry) => entry[key]);
  const numbers = entries.map((entry) => JSON.stringify(entry.numbers));
  const first = round.entries;
  round.entries += entries.length;
  round.runningHash = hashOf(entries.length - 1);
  round.lastEntryAt = time;
  const columns = [column('id'), column('wallet'), numbers, column('source'), column('messageId')];
  await Promise.all([
    tx.query(insert, [roundId, first, ...columns, at, entries.map((_, i) => hashOf(i))]),
    tx.query(count, [roundId, round.entries, round.runningHash, at]),
  ]);
  tx.emitAll(
    newEntry,
    accepted.map(({ id, index, wallet, numbers }) => ({ roundId, kind: round.kind, entryId: id, index, wallet, numbers })),
  );
  return accepted;
}

/** A message that requests an entry in the active chat round. */
interface EntryCandidate {
  /** Id of the new entry. If `numbers` is null, the numbers are derived from this id and the wallet. */
  readonly id: string;
  readonly wallet: string;
  /** The requested numbers in any order; null: the service derives the numbers. */
  readonly numbers: readonly number[] | null;
  readonly source: string;
  readonly messageId: string;
  /** The wallet's balance of the token that the round requires; null or absent when it is not known (`readEntryBalance`). */
  readonly balance?: EntryBalance | null;
}

/** The accepted entry, or the reason for the refusal in one sentence. */
type EntryAcceptance = { readonly entry: AcceptedEntry } | RuleRefusal | { readonly status: 400 | 409; readonly error: string };

const perWallet = statement<{ wallet: string; n: number }>(
  'count_entries_of_wallets',
  // `lateral … offset 0` makes PostgreSQL use one index lookup per wallet, even if it planned the statement while the table was small and a scan was
  // cheaper.
  `select k.wallet, c.n from unnest($2::text[]) as k(wallet),
     lateral (select count(*)::int as n from entries where round = $1 and wallet = k.wallet offset 0) c`,
);

/**
 * Validates and accepts a batch of candidates in their order. A refused candidate gets no index and is not stored. Precondition: the transaction has
 * locked the active round (`lockActiveRound`).
 * @param round active round; null when no round is active. Then every candidate is refused
 * @returns one result per candidate
 */
export async function acceptEntries(app: App, tx: Tx, round: LockedRound | null, candidates: readonly EntryCandidate[]): Promise<EntryAcceptance[]> {
  if (candidates.length === 0) return [];
  if (!round || !takesEntries(round) || round.parameters.kind !== 'chat') {
    return candidates.map(() => ({ status: 409, error: 'no round accepts entries now' }));
  }
  const { parameters } = round;
  const balances = new Map(candidates.map(({ wallet, balance }) => [wallet, balance ?? null]));
  const wallets = [...balances.keys()];
  const stablecoin = app.config.chain.usdcMint;
  const [counts, refused, restricted] = await Promise.all([
    tx.query(perWallet, [round.id, wallets]),
    refusedWallets(tx, parameters.entryRules, parameters.opensAt, balances),
    parameters.prizes.some(({ mint }) => mint === stablecoin) ? restrictedWallets(app, tx, wallets, { paying: false }) : null,
  ]);
  const entriesByWallet = new Map(counts.map(({ wallet, n }) => [wallet, n]));
  const taken: NewEntry[] = [];
  const results = candidates.map((candidate): number | Exclude<EntryAcceptance, { entry: unknown }> => {
    const { id, wallet, source, messageId } = candidate;
    const numbers = candidate.numbers?.toSorted((a, b) => a - b) ?? derivedNumbers(id, wallet, parameters);
    const fault = numbersError(parameters, numbers);
    if (fault !== null) return { status: 400, error: `the numbers of an entry ${fault}` };
    const refusal = restricted?.get(wallet) ?? refused.get(wallet);
    if (refusal) return refusal;
    const before = entriesByWallet.get(wallet) ?? 0;
    if (before >= parameters.maxEntriesPerWallet) {
      return { status: 409, error: `a wallet can have at most ${parameters.maxEntriesPerWallet} entries in this round` };
    }
    entriesByWallet.set(wallet, before + 1);
    return taken.push({ id, wallet, numbers, source, messageId }) - 1;
  });
  const accepted = await appendEntries(tx, round, taken);
  return results.map((result) => {
    if (typeof result !== 'number') return result;
    const entry = accepted[result];
    if (!entry) throw new Error('an accepted entry is missing');
    return { entry };
  });
}

const selectEntries = statement<Entry>(
  'select_entries_of_round',
  `select index, wallet, numbers, source, message_id as "messageId", ${instant('at')} as at
   from entries where round = $1 and index >= $2 order by index limit $3`,
);
/** Entries per query. */
const CHUNK = 10_000;

/** Streams the entries of a round in chunks, ordered by index. */
export async function* entryChunks(db: Queryable, round: string): AsyncGenerator<Entry[]> {
  for (let from = 0; ; from += CHUNK) {
    const chunk = await db.query(selectEntries, [round, from, CHUNK]);
    if (chunk.length > 0) yield chunk;
    if (chunk.length < CHUNK) return;
  }
}

/** Reads all entries of a round, ordered by index. */
export async function readEntries(db: Queryable, round: string): Promise<Entry[]> {
  const chunks: Entry[][] = [];
  for await (const chunk of entryChunks(db, round)) chunks.push(chunk);
  return chunks.flat();
}
