import { createHash, randomBytes } from 'node:crypto';
import { canonicalize } from '#lib/canonical.ts';
import { newId } from '#lib/ids.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { takeLock } from '#platform/db/turns.ts';

/** The previous hash in the first record of a chain: 32 zero bytes. */
const GENESIS = Buffer.alloc(32);

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

/** A stored record in the hash chain of its wallet and game. Hashes are hex. */
interface RecordedEntry {
  recordId: string;
  /** Number of the record in its chain, from 1 on without gaps. */
  sequence: number;
  hash: string;
  previousHash: string;
  /** Random bytes that are hashed together with the record, so that its content cannot be guessed from the hash. */
  salt: string;
  recordedAt: string;
}

/** Maximum records that can be appended to one chain per minute and per day. */
export const MAX_RECORDS = { minute: 60, day: 1_000 } as const;

/** Seed of the locks of chains; see `takeLock`. */
const CHAIN_LOCK = 4202;
// Finds the `limit`-th newest record by its sequence number instead of by counting records, because the sequence numbers have no gaps. The limit per
// minute (or day) is reached while this record is less than a minute (or a day) old.
const selectLast = statement<{ sequence: number; hash: Buffer; waitSec: number | null }>(
  'select_last_record',
  `select last.sequence, last.hash, ceil(extract(epoch from greatest(
     (select at + interval '1 minute' from game_records r where r.wallet = $1 and r.game_id = $2 and r.sequence = last.sequence - ${MAX_RECORDS.minute - 1}),
     (select at + interval '1 day' from game_records r where r.wallet = $1 and r.game_id = $2 and r.sequence = last.sequence - ${MAX_RECORDS.day - 1})
   ) - app_now()))::int as "waitSec"
   from (select sequence, hash from game_records where wallet = $1 and game_id = $2 order by sequence desc limit 1) last`,
);
const insertRecord = statement<{ recordedAt: string }>(
  'insert_game_record',
  `insert into game_records (wallet, game_id, sequence, id, salt, record, content_hash, previous_hash, hash, at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, app_now())
   returning ${instant('at')} as "recordedAt"`,
);

const tooMany = (waitSec: number) =>
  tooManyRequests(`a wallet can append at most ${MAX_RECORDS.minute} records per minute and ${MAX_RECORDS.day} per day in a game, try again later`, {
    ...(waitSec > 60
      ? { name: 'records-per-day', quota: MAX_RECORDS.day, windowMs: 86_400_000 }
      : { name: 'records-per-minute', quota: MAX_RECORDS.minute, windowMs: 60_000 }),
    waitMs: waitSec * 1_000,
  });

/**
 * Appends a record to the hash chain of a wallet in a game. A lock per chain serializes appends, so that the limits are exact. Precondition: the
 * transaction runs in the work of `inTurn`.
 * @throws 429 when the chain reached its limit for the last minute or day
 */
export async function appendRecord(tx: Tx, wallet: string, gameId: string, record: unknown): Promise<RecordedEntry> {
  await takeLock(tx, `${wallet} ${gameId}`, CHAIN_LOCK);
  const last = (await tx.query(selectLast, [wallet, gameId]))[0] ?? { sequence: 0, hash: GENESIS, waitSec: null };
  if (last.waitSec !== null && last.waitSec > 0) throw tooMany(last.waitSec);
  const entry = { recordId: newId(), sequence: last.sequence + 1 };
  const salt = randomBytes(32);
  // The chain contains the hash of the content instead of the content, so that the chain can still be verified after the content is erased.
  const contentHash = sha256(salt, canonicalize(record));
  const hash = sha256(last.hash, contentHash);
  const values = [wallet, gameId, entry.sequence, entry.recordId, salt, JSON.stringify(record), contentHash, last.hash, hash];
  const rows = await tx.query(insertRecord, values);
  const recordedAt = rows[0]?.recordedAt;
  if (recordedAt === undefined) throw new Error('the statement insert_game_record returned no row');
  return { ...entry, hash: hash.toString('hex'), previousHash: last.hash.toString('hex'), salt: salt.toString('hex'), recordedAt };
}
