import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type Commitment, commitmentHash, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A commitment's place in the sequence of its committer's key, and what landed of it. */
export interface Place {
  readonly committer: string;
  readonly sequence: number;
  readonly round: string;
  /** The hash of the commitment before. */
  readonly previous: string;
  /** null before it is final and recorded. */
  readonly hash: string | null;
  readonly signature: string | null;
  readonly slot: number | null;
}

const COLUMNS = 'committer, sequence::float8, round::text, previous, hash, signature, slot::float8';
const ofRound = statement<Place>('read_commitment_of_round', `select ${COLUMNS} from commitments where round = $1`);
const newest = statement<Place>('read_newest_commitments', `select ${COLUMNS} from commitments where committer = $1 order by sequence desc limit 2`);
const at = statement<Place>('read_commitment_at', `select ${COLUMNS} from commitments where committer = $1 and sequence = $2`);
const lock = statement('lock_commitments', `select pg_advisory_xact_lock(hashtext('coinop-commitments'))`);
// A place in the sequence of a former key is given up for it.
const insert = statement(
  'insert_commitment',
  `insert into commitments (committer, sequence, round, previous) values ($1, $2, $3, $4)
   on conflict (round) do update set committer = excluded.committer, sequence = excluded.sequence, previous = excluded.previous
   where commitments.memo is null`,
);

/** The place that a round was given. */
export async function placeOf(db: Queryable, round: string): Promise<Place | undefined> {
  return (await db.query(ofRound, [round]))[0];
}

/** A key's newest place, and the newest one whose commitment is recorded: the same, or the one before. */
export async function newestPlaces(db: Queryable, committer: string): Promise<{ last: Place | undefined; landed: Place | undefined }> {
  const rows = await db.query(newest, [committer]);
  return { last: rows[0], landed: rows.find(({ hash }) => hash !== null) };
}

/**
 * Gives a round the next number of a key, once; its own where it has one. Nothing that was signed for the round may land any more.
 * @returns null while the commitment before is not recorded, or when its own is
 */
export async function takePlace(tx: Tx, round: string, committer: string): Promise<Place | null> {
  await tx.query(lock);
  const own = await placeOf(tx, round);
  if (own && own.hash !== null) return null;
  if (own?.committer === committer) return own;
  const { last } = await newestPlaces(tx, committer);
  if (last && last.hash === null) return null;
  const [sequence, previous] = [(last?.sequence ?? 0) + 1, last?.hash ?? NO_PREVIOUS];
  await tx.query(insert, [committer, sequence, round, previous]);
  return { committer, sequence, round, previous, hash: null, signature: null, slot: null };
}

const record = statement(
  'record_commitment',
  `insert into commitments (sequence, round, previous, memo, hash, committer, signature, slot, blockhash, block_time)
   values ($1, $2, $3, $4, $5, $6, $7, $8::int8, $9, $10)
   on conflict (committer, sequence) do update set memo = excluded.memo, hash = excluded.hash, signature = excluded.signature,
     slot = excluded.slot, blockhash = excluded.blockhash, block_time = excluded.block_time`,
);

/**
 * Records what landed, at its place. The transaction holds the round's row.
 * @returns why it has no such place, or null
 */
export async function recordLanded(tx: Tx, commitment: Commitment, landed: LandedCommitment): Promise<string | null> {
  const { sequence, round, previous } = commitment;
  const { memo, committer, signature, slot, blockhash, blockTime } = landed;
  await tx.query(lock);
  const [own, [there], [before]] = await Promise.all([
    placeOf(tx, round),
    tx.query(at, [committer, sequence]),
    tx.query(at, [committer, sequence - 1]),
  ]);
  if (own && own.committer !== committer) return `the round was given a number of ${own.committer}, and one of ${committer} landed`;
  if (own && own.sequence !== sequence) return `the round was given sequence number ${own.sequence}, and ${sequence} landed`;
  if (there && there.round !== round) return `sequence number ${sequence} was given to round ${there.round}`;
  if (sequence > 1 && (!before || before.hash === null)) return `the commitment with sequence number ${sequence - 1} is not recorded`;
  if (previous !== (before?.hash ?? NO_PREVIOUS)) return `it does not name the commitment with sequence number ${sequence - 1}`;
  await tx.query(record, [sequence, round, previous, memo, commitmentHash(memo), committer, signature, slot, blockhash, blockTime]);
  return null;
}

const readRecord = statement<LandedCommitment>(
  'read_landed_commitment',
  `select memo, committer, signature, slot::float8, blockhash, ${instant('block_time')} as "blockTime"
   from commitments where round = $1 and memo is not null`,
);

/** What landed of a round, as it was recorded. */
export async function landedOf(db: Queryable, round: string): Promise<LandedCommitment | undefined> {
  return (await db.query(readRecord, [round]))[0];
}

const firsts = statement<{ committer: string }>(
  'read_committers',
  'select committer from commitments where sequence = 1 and slot is not null order by slot',
);

/** Every key that has committed to rounds, in the order in which they began to. */
export async function committersOf(db: Queryable): Promise<string[]> {
  return (await db.query(firsts)).map(({ committer }) => committer);
}
