import { type NotNull, sql } from 'kysely';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type Commitment, commitmentHash, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../rows.ts';

/** The position of a round's commitment in the numbered sequence of commitments that one committer key signs. */
interface CommitmentPosition {
  readonly committer: string;
  readonly sequence: number;
  readonly round: string;
  /** Hash of the previous commitment in the sequence. */
  readonly previous: string;
  /** Hash of this commitment; null before it is finalized and recorded. */
  readonly hash: string | null;
  readonly signature: string | null;
  readonly slot: number | null;
}

const positions = build
  .selectFrom('commitments')
  .select(['committer', sql<number>`sequence::float8`.as('sequence'), 'round', 'previous', 'hash', 'signature'])
  .select(sql<number | null>`slot::float8`.as('slot'));
const ofCommitter = (committer: string) => positions.where('committer', '=', committer);
const lock = statement('lock_commitments', `select pg_advisory_xact_lock(hashtext('coinop-commitments'))`);
// If the round already has a position in the sequence of an earlier committer key, the new position replaces that position. A position with a
// recorded commitment is kept.
const insert = statement(
  'insert_commitment',
  `insert into commitments (committer, sequence, round, previous) values ($1, $2, $3, $4)
   on conflict (round) do update set committer = excluded.committer, sequence = excluded.sequence, previous = excluded.previous
   where commitments.memo is null`,
);

/** Reads the position that was assigned to a round. */
export async function readPosition(db: Queryable, round: string): Promise<CommitmentPosition | undefined> {
  return (await run(db, positions.where('round', '=', round)))[0];
}

/**
 * Reads two positions in the sequence of commitments that a committer key signs.
 * `last`: the newest position; undefined when the sequence is empty.
 * `landed`: the newest position whose commitment is recorded, which is `last` or the position directly before `last`; undefined when no commitment is
 * recorded.
 */
export async function readNewestPositions(
  db: Queryable,
  committer: string,
): Promise<{ last: CommitmentPosition | undefined; landed: CommitmentPosition | undefined }> {
  const rows = await run(db, ofCommitter(committer).orderBy('commitments.sequence', 'desc').limit(2));
  return { last: rows[0], landed: rows.find(({ hash }) => hash !== null) };
}

/**
 * Assigns to a round the next position in the sequence of a committer key. If the round already has a position in this sequence, returns that
 * position. Precondition: no transaction that was signed for the round can land any more.
 * @returns null while the previous commitment is not recorded, or when the round's own commitment is recorded already
 */
export async function assignPosition(tx: Tx, round: string, committer: string): Promise<CommitmentPosition | null> {
  await tx.query(lock);
  const own = await readPosition(tx, round);
  if (own && own.hash !== null) return null;
  if (own?.committer === committer) return own;
  const { last } = await readNewestPositions(tx, committer);
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
 * Records a finalized commitment at its position. Precondition: the transaction has locked the round's row.
 * @returns the reason why the commitment does not fit its position, or null
 */
export async function recordLanded(tx: Tx, commitment: Commitment, landed: LandedCommitment): Promise<string | null> {
  const { sequence, round, previous } = commitment;
  const { memo, committer, signature, slot, blockhash, blockTime } = landed;
  await tx.query(lock);
  const [own, [existing], [before]] = await Promise.all([
    readPosition(tx, round),
    run(tx, ofCommitter(committer).where('sequence', '=', String(sequence))),
    run(tx, ofCommitter(committer).where('sequence', '=', String(sequence - 1))),
  ]);
  if (own && own.committer !== committer)
    return `the round has a sequence number of committer ${own.committer}, but a commitment of ${committer} landed`;
  if (own && own.sequence !== sequence) return `the round has sequence number ${own.sequence}, but a commitment with number ${sequence} landed`;
  if (existing && existing.round !== round) return `sequence number ${sequence} belongs to round ${existing.round}`;
  if (sequence > 1 && (!before || before.hash === null)) return `the commitment with sequence number ${sequence - 1} is not recorded`;
  if (previous !== (before?.hash ?? NO_PREVIOUS)) return `it does not name the hash of the commitment with sequence number ${sequence - 1}`;
  await tx.query(record, [sequence, round, previous, memo, commitmentHash(memo), committer, signature, slot, blockhash, blockTime]);
  return null;
}

// A check of the table says that the columns of a recorded commitment are set together.
const recorded = build
  .selectFrom('commitments')
  .select(['memo', 'committer', 'signature', 'blockhash', sql<number>`slot::float8`.as('slot'), isoInstant('block_time').as('blockTime')])
  .where('memo', 'is not', null)
  .$narrowType<{ memo: NotNull; signature: NotNull; blockhash: NotNull }>();

/** Reads the recorded commitment of a round. */
export async function readLandedCommitment(db: Queryable, round: string): Promise<LandedCommitment | undefined> {
  return (await run(db, recorded.where('round', '=', round)))[0];
}

/** Reads all keys that have committed to rounds, ordered by the slot of each key's first commitment. */
export async function readCommitters(db: Queryable): Promise<string[]> {
  const first = build.selectFrom('commitments').select('committer').where('sequence', '=', '1').where('slot', 'is not', null);
  return (await run(db, first.orderBy('slot'))).map(({ committer }) => committer);
}
