import { Audit, LandedCommitment } from './audit.ts';
import { type BeaconChain, chainHashOf, isInTime } from './beacon-chain.ts';
import { buildAudit, type RoundFacts, treeOf } from './build.ts';
import { millis } from './bytes.ts';
import { type Commitment, parseMemo } from './commitment.ts';
import { Entry, leavesOf, rootOverLeaves, treeRoot } from './entry.ts';
import { firstDifference, type Mismatch, shapeMismatch } from './mismatch.ts';
import { parametersHash } from './parameters.ts';
import { findBrokenRule } from './rules.ts';

/**
 * Values that a verifier takes from other sources than the audit. Without these values, a verifier can only show that the audit does not contradict
 * itself.
 */
export interface TrustAnchors {
  /** The beacon chain that the verifier trusts. */
  readonly beacon: BeaconChain;
  /** Returns whether a signature (hex) is the signature that the beacon chain published for a beacon round. */
  readonly verifySignature: (chain: BeaconChain, round: number, signature: string) => boolean;
  /** Public key that signs commitments, base58. */
  readonly committer: string;
  /**
   * The commitment of the round as read from the chain (from `verifyHistory`). null when the verifier has no access to the chain and trusts the
   * commitment in the audit.
   */
  readonly landed: LandedCommitment | null;
  /** Minimum accepted `leadSec` and `marginSec` of the round's parameters, seconds. */
  readonly minLeadSec: number;
  readonly minMarginSec: number;
}

/** Result of a verification: the state of the verified round, or the first mismatch with its path in the audit or in the entries. */
export type RoundVerdict =
  | { readonly ok: true; readonly state: 'closing' | 'committed' | 'finalized' | 'void' }
  | ({ readonly ok: false } & Mismatch);

/**
 * The round under verification.
 * `facts`: the values from which the audit is recomputed.
 * `tree`: the tree of the entries; null when there are no entries.
 * `memo`: the parsed memo of the commitment; null when there is no commitment.
 */
interface RoundToVerify {
  readonly audit: Audit;
  readonly facts: RoundFacts;
  readonly tree: readonly Uint8Array[] | null;
  readonly anchors: TrustAnchors;
  readonly memo: Commitment | null;
}

/**
 * Verifies the audit of a round. Checks in this order:
 * 1. the schemas of the audit and of the entries
 * 2. the commitment, compared with the chain
 * 3. the memo and the committer of the commitment
 * 4. the parameters and the beacon chain
 * 5. the entries and their rules
 * 6. the block time of the commitment
 * 7. the beacon signature
 * 8. the reason of a void round
 * 9. every field of the audit, compared with the audit that `buildAudit` computes
 * @param entries list of all published entries, ordered by index
 */
export function verifyRound(audit: unknown, entries: readonly unknown[], anchors: TrustAnchors): RoundVerdict {
  const shaped = Audit.safeParse(audit);
  if (!shaped.success) return rejected(shapeMismatch(shaped.error, ''));
  const parsed: Entry[] = [];
  for (const [i, entry] of entries.entries()) {
    const line = Entry.safeParse(entry);
    if (!line.success) return rejected(shapeMismatch(line.error, `entries[${i}]`));
    parsed.push(line.data);
  }
  const given = read(shaped.data, parsed, anchors);
  if ('where' in given) return rejected(given);
  for (const check of CHECKS) {
    const mismatch = check(given);
    if (mismatch !== null) return rejected(mismatch);
  }
  const difference = firstDifference(buildAudit(given.facts, given.tree), given.audit, '');
  if (difference !== null) return rejected(difference);
  return { ok: true, state: stateOf(given.audit) };
}

const rejected = (mismatch: Mismatch): RoundVerdict => ({ ok: false, ...mismatch });

function stateOf({ void: reason, commitment, draw }: Audit): 'closing' | 'committed' | 'finalized' | 'void' {
  if (reason !== null) return 'void';
  if (commitment === null) return 'closing';
  return draw === null ? 'committed' : 'finalized';
}

/**
 * Returns the values that the checks need, or a mismatch of the commitment. Takes a value from the audit only if it cannot be computed or read from
 * another source.
 */
function read(audit: Audit, entries: readonly Entry[], anchors: TrustAnchors): RoundToVerify | Mismatch {
  const { commitment } = audit;
  if (anchors.landed !== null) {
    if (commitment === null) return { where: 'commitment', reason: `is missing, but transaction ${anchors.landed.signature} contains it` };
    const { sequence: _sequence, previous: _previous, hash: _hash, ...shown } = commitment;
    const difference = firstDifference(anchors.landed, shown, 'commitment');
    if (difference !== null) return difference;
  }
  const memo = commitment === null ? null : parseMemo(commitment.memo);
  if (commitment !== null && memo === null) return { where: 'commitment.memo', reason: 'is not a commitment' };
  const facts: RoundFacts = {
    parameters: audit.parameters,
    entries,
    commitment: commitment === null ? null : LandedCommitment.strip().parse(commitment),
    beacon: commitment === null ? null : { chain: anchors.beacon, signature: audit.beacon?.signature ?? null },
    void: audit.void,
  };
  return { audit, facts, tree: treeOf(facts), anchors, memo };
}

type Check = (given: RoundToVerify) => Mismatch | null;
const mismatchUnless = (holds: boolean, wrong: string, why: string): Mismatch | null => (holds ? null : { where: wrong, reason: why });

const CHECKS: readonly Check[] = [
  ({ audit }) => mismatchUnless(audit.round === audit.parameters.round, 'round', `is not the round of the parameters, ${audit.parameters.round}`),
  ({ audit, memo }) => mismatchUnless(memo === null || memo.round === audit.round, 'commitment.memo', 'names another round'),
  ({ audit, anchors }) =>
    mismatchUnless(
      audit.commitment === null || audit.commitment.committer === anchors.committer,
      'commitment.committer',
      `is not ${anchors.committer}`,
    ),
  ({ audit, memo }) =>
    mismatchUnless(
      memo === null || memo.parametersHash === parametersHash(audit.parameters),
      'parameters',
      'do not match the hash in the commitment',
    ),
  ({ audit, anchors }) =>
    mismatchUnless(audit.parameters.leadSec >= anchors.minLeadSec, 'parameters.leadSec', `is less than ${anchors.minLeadSec} seconds`),
  ({ audit, anchors }) =>
    mismatchUnless(audit.parameters.marginSec >= anchors.minMarginSec, 'parameters.marginSec', `is less than ${anchors.minMarginSec} seconds`),
  ({ anchors }) =>
    mismatchUnless(chainHashOf(anchors.beacon) === anchors.beacon.chainHash, 'beacon.chainHash', 'is not the hash of the pinned chain'),
  ({ anchors, memo }) =>
    mismatchUnless(memo === null || memo.chainHash === anchors.beacon.chainHash, 'commitment.memo', 'names another beacon chain'),
  checkEntries,
  checkBlockTime,
  checkSignature,
  checkVoid,
];

function doEntriesMatch({ facts, tree, memo }: RoundToVerify): boolean {
  if (memo === null) return true;
  return memo.count === facts.entries.length && tree !== null && memo.entriesRoot === treeRoot(tree);
}

function checkEntries(given: RoundToVerify): Mismatch | null {
  // In a round that is void because its entries differ from the commitment, `checkVoid` checks the difference.
  if (given.audit.void === 'entries-differ') return null;
  if (!doEntriesMatch(given)) return firstDifferentEntry(given) ?? { where: 'entries', reason: 'do not match the commitment' };
  return findBrokenRule(given.audit.parameters, given.facts.entries);
}

/**
 * Finds the entry with the lowest index that differs from the committed entry. This works only when the hashes in the audit match the committed root.
 */
function firstDifferentEntry({ audit: { entryHashes }, tree, memo }: RoundToVerify): Mismatch | null {
  if (memo === null || entryHashes.length !== memo.count || rootOverLeaves(entryHashes) !== memo.entriesRoot) return null;
  const own = tree === null ? [] : leavesOf(tree);
  const at = entryHashes.findIndex((hash, i) => hash !== own[i]);
  if (at < 0) return { where: `entries[${entryHashes.length}]`, reason: 'is not part of the commitment' };
  return { where: `entries[${at}]`, reason: at < own.length ? `does not have the committed hash ${entryHashes[at]}` : 'is missing' };
}

function isLate({ audit, anchors, memo }: RoundToVerify): boolean {
  if (memo === null || audit.commitment === null) return false;
  return !isInTime(anchors.beacon, memo.beaconRound, millis(audit.commitment.blockTime), audit.parameters.marginSec);
}

function checkBlockTime(given: RoundToVerify): Mismatch | null {
  return mismatchUnless(given.audit.void === 'late-block' || !isLate(given), 'commitment.blockTime', 'is too late for the beacon round');
}

function checkSignature({ facts, anchors, memo }: RoundToVerify): Mismatch | null {
  const signature = facts.beacon?.signature ?? null;
  if (signature === null || memo === null) return null;
  const holds = anchors.verifySignature(anchors.beacon, memo.beaconRound, signature);
  return mismatchUnless(holds, 'beacon.signature', `is not the beacon’s signature of round ${memo.beaconRound}`);
}

function checkVoid(given: RoundToVerify): Mismatch | null {
  const { audit, facts, memo } = given;
  const signature = facts.beacon?.signature ?? null;
  switch (audit.void) {
    case null:
      return null;
    case 'no-entries':
      return mismatchUnless(memo === null && facts.entries.length === 0, 'void', 'there are entries');
    case 'late-block':
      return mismatchUnless(isLate(given), 'void', 'the block of the commitment was in time');
    case 'no-beacon':
      return mismatchUnless(memo !== null && signature === null, 'void', memo === null ? 'there is no commitment' : 'the beacon signature exists');
    case 'entries-differ':
      return mismatchUnless(!doEntriesMatch(given), 'void', 'the entries match the commitment');
  }
}
