import { sha256, utf8 } from './bytes.ts';

/** What the service binds itself to before the beacon can be known. Hashes are hex. */
export interface Commitment {
  /** 1, 2, 3, … over all rounds that its committer's key commits to, without gaps. */
  readonly sequence: number;
  readonly round: string;
  readonly entriesRoot: string;
  /** How many entries, at least one. */
  readonly count: number;
  readonly parametersHash: string;
  readonly chainHash: string;
  readonly beaconRound: number;
  /** The hash of the commitment before, as it stands on the chain; that of the first is `NO_PREVIOUS`. */
  readonly previous: string;
}

/** Whose memo the sequence begins with. */
export const NO_PREVIOUS = '0'.repeat(64);

/** A memo that begins like this is meant to be a commitment. */
export const MEMO_PREFIX = 'coinop/commitment/';

const number = String.raw`[1-9]\d{0,15}`;
const hex = '[0-9a-f]{64}';
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const MEMO = new RegExp(
  `^${MEMO_PREFIX}1 seq=(${number}) round=(${uuid}) root=(${hex}) count=(${number}) params=(${hex}) drand=(${hex}) beacon=(${number}) prev=(${hex})$`,
);
const MOST_COUNT = 2 ** 32;

/**
 * The memo of a commitment, one line of ASCII of at most 407 bytes (a memo instruction takes 566 with one signer):
 *
 *     coinop/commitment/1 seq=S round=U root=H count=N params=H drand=H beacon=R prev=H
 *
 * with one space between fields, in this order; U the round's UUID, H 64 digits of hex, all in lower case; S, N and R decimal, from 1 on, without
 * leading zeros: sequence number, number of entries (at most 2^32), the beacon's round (S and R below 2^53).
 * @throws for what cannot be written so
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
  if (parseMemo(memo) === null) throw new Error(`not a commitment: ${memo}`);
  return memo;
}

/** Reads a memo; null for anything that `commitmentMemo` would not have written. */
export function parseMemo(memo: string): Commitment | null {
  const [, sequence, round, entriesRoot, count, parametersHash, chainHash, beaconRound, previous] = MEMO.exec(memo) ?? [];
  if (round === undefined || entriesRoot === undefined || parametersHash === undefined || chainHash === undefined || previous === undefined)
    return null;
  const numbers = { sequence: Number(sequence), count: Number(count), beaconRound: Number(beaconRound) };
  const fits = Object.values(numbers).every(Number.isSafeInteger) && numbers.count <= MOST_COUNT;
  // The first has nothing before it, and no other.
  if (!fits || (numbers.sequence === 1) !== (previous === NO_PREVIOUS)) return null;
  return { ...numbers, round, entriesRoot, parametersHash, chainHash, previous };
}

/** The hash of a commitment: SHA-256 of the bytes of its memo. */
export function commitmentHash(memo: string): string {
  return sha256(utf8(memo)).toString('hex');
}
