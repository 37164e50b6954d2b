import { createHash } from 'node:crypto';
import { instant, statement } from '../../db/sql.ts';
import { canonicalize } from '../../lib/canonical.ts';
import { newId } from '../../lib/ids.ts';
import type { Tx } from '../../tx.ts';

/** The hash before the first record of a chain. */
export const GENESIS = Buffer.alloc(32);

/** Hash of a record: SHA-256(previous hash ‖ canonical JSON of the record). */
export function recordHash(previous: Uint8Array, record: unknown): Buffer {
  return createHash('sha256').update(previous).update(canonicalize(record)).digest();
}

/** A record's place in the chain of its wallet and game; hashes in hex. */
export interface RecordedEntry {
  recordId: string;
  /** 1 for the first, without gaps. */
  sequence: number;
  hash: string;
  previousHash: string;
  recordedAt: string;
}

const lockChain = statement('lock_record_chain', `select pg_advisory_xact_lock(hashtextextended($1, 4202))`);
const selectLast = statement<{ sequence: number; hash: Buffer }>(
  'select_last_record',
  'select sequence, hash from game_records where wallet = $1 and game_id = $2 order by sequence desc limit 1',
);
const insertRecord = statement<{ recordedAt: string }>(
  'insert_game_record',
  `insert into game_records (wallet, game_id, sequence, id, record, previous_hash, hash, at) values ($1, $2, $3, $4, $5, $6, $7, app_now())
   returning ${instant('at')} as "recordedAt"`,
);

/** Appends a record to the chain of a wallet in a game; concurrent appends wait for each other. */
export async function appendRecord(tx: Tx, wallet: string, gameId: string, record: unknown): Promise<RecordedEntry> {
  await tx.query(lockChain, [`${wallet} ${gameId}`]);
  const last = (await tx.query(selectLast, [wallet, gameId]))[0] ?? { sequence: 0, hash: GENESIS };
  const entry = { recordId: newId(), sequence: last.sequence + 1, hash: recordHash(last.hash, record) };
  const rows = await tx.query(insertRecord, [wallet, gameId, entry.sequence, entry.recordId, JSON.stringify(record), last.hash, entry.hash]);
  const recordedAt = rows[0]?.recordedAt;
  if (recordedAt === undefined) throw new Error('game_records did not answer');
  return { ...entry, hash: entry.hash.toString('hex'), previousHash: last.hash.toString('hex'), recordedAt };
}
