import { sha256, utf8 } from './bytes.ts';

/** The commitment to a draw. It is published before the beacon's randomness is known. Hashes are hex. */
export interface Commitment {
  /** Sequence number of the commitment: 1, 2, 3, … without gaps, counted over all commitments that are signed with the same committer key. */
  readonly sequence: number;
  readonly round: string;
  readonly entriesRoot: string;
  /** Number of entries, at least one. */
  readonly count: number;
  readonly parametersHash: string;
  readonly chainHash: string;
  readonly beaconRound: number;
  /** Hash of the previous commitment on the chain that is signed with the same committer key; `NO_PREVIOUS` in the first commitment of a key. */
  readonly previous: string;
}

/** The value of `previous` in the first commitment of a committer key. */
export const NO_PREVIOUS = '0'.repeat(64);

/** Prefix of every memo that claims to be a commitment. */
export const MEMO_PREFIX = 'coinop/commitment/';

const number = String.raw`[1-9]\d{0,15}`;
const hex = '[0-9a-f]{64}';
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const MEMO = new RegExp(
  `^${MEMO_PREFIX}1 seq=(${number}) round=(${uuid}) root=(${hex}) count=(${number}) params=(${hex}) drand=(${hex}) beacon=(${number}) prev=(${hex})$`,
);
const MAX_COUNT = 2 ** 32;

/**
 * Returns the memo of a commitment, one line of ASCII of at most 407 bytes (the limit of a memo with one signer is 566 bytes):
 *
 *     coinop/commitment/1 seq=S round=U root=H count=N params=H drand=H beacon=R prev=H
 *
 * Fields are in this order, separated by one space. U is the round's UUID and H are 64 hex digits, both in lower case. S (sequence
 * number), N (number of entries, at most 2^32) and R (beacon round) are decimal, at least 1, without leading zeros; S and R are below
 * 2^53.
 * @throws when the values do not fit this format
 */
export function commitmentMemo(commitment: Commitment): string {
  const { sequence, round, entriesRoot, count, parametersHash, chainHash, beaconRound, previous } = commitment;
  const memo = [
    `${MEMO_PREFIX}1`,
    `seq=${sequence}`,
    `round=${round}`,
    `root=${entriesRoot}`,
    `count=${count}`,
    `params=${parametersHash}`,
    `drand=${chainHash}`,
    `beacon=${beaconRound}`,
    `prev=${previous}`,
  ].join(' ');
  if (parseMemo(memo) === null) throw new Error(`the values give a memo that is not a commitment: ${memo}`);
  return memo;
}

/** Parses a memo. Returns null when the format of the memo is not exactly the format of `commitmentMemo`. */
export function parseMemo(memo: string): Commitment | null {
  const [, sequence, round, entriesRoot, count, parametersHash, chainHash, beaconRound, previous] = MEMO.exec(memo) ?? [];
  if (round === undefined || entriesRoot === undefined || parametersHash === undefined || chainHash === undefined || previous === undefined)
    return null;
  const numbers = { sequence: Number(sequence), count: Number(count), beaconRound: Number(beaconRound) };
  const fits = Object.values(numbers).every(Number.isSafeInteger) && numbers.count <= MAX_COUNT;
  // The first commitment of a committer key has `NO_PREVIOUS`, and no other commitment has it.
  if (!fits || (numbers.sequence === 1) !== (previous === NO_PREVIOUS)) return null;
  return { ...numbers, round, entriesRoot, parametersHash, chainHash, previous };
}

/** Returns the hash of a commitment: SHA-256 of the bytes of its memo, hex. */
export function commitmentHash(memo: string): string {
  return sha256(utf8(memo)).toString('hex');
}
