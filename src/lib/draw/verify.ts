import { Audit, LandedCommitment } from './audit.ts';
import { type BeaconChain, chainHashOf, isInTime } from './beacon-chain.ts';
import { buildAudit, type RoundFacts, treeOf } from './build.ts';
import { millis } from './bytes.ts';
import { type Commitment, parseMemo } from './commitment.ts';
import { Entry, leavesOf, rootOverLeaves, treeRoot } from './entry.ts';
import { firstDifference, type Misfit, shapeMisfit } from './mismatch.ts';
import { parametersHash } from './parameters.ts';
import { brokenRule } from './rules.ts';

/** What a verifier knows otherwise than from the audit: without it, an audit only shows that it agrees with itself. */
export interface Anchors {
  /** The beacon's chain, pinned. */
  readonly beacon: BeaconChain;
  /** Whether a signature (hex) is that chain's of a round. */
  readonly verifySignature: (chain: BeaconChain, round: number, signature: string) => boolean;
  /** The key that signs commitments, base58. */
  readonly committer: string;
  /**
   * The commitment of the round as read from the chain (`verifyHistory` says which). null: whoever verifies has no chain at hand, and takes
   * the audit's word for what stands there.
   */
  readonly landed: LandedCommitment | null;
  /** The least lead and margin that are taken for fair, seconds. */
  readonly leastLeadSec: number;
  readonly leastMarginSec: number;
}

/** How far a round has come, or the first thing that does not fit: its place in the audit (or in the entries), and why. */
export type Verdict = { readonly ok: true; readonly state: 'closing' | 'committed' | 'finalized' | 'void' } | ({ readonly ok: false } & Misfit);

/** A round as it was given, its tree, and what its memo says. */
interface Given {
  readonly audit: Audit;
  readonly facts: RoundFacts;
  readonly tree: readonly Uint8Array[] | null;
  readonly anchors: Anchors;
  readonly memo: Commitment | null;
}

/**
 * Computes a round again from its entries, and compares. Checked in this order: shapes; the commitment against the chain; its memo;
 * parameters, entries and their rules against what was committed to; the block's time; the beacon's signature; the reason of a void
 * round; and then every field against what follows from all that.
 * @param entries all of them as published, by index
 */
export function verifyRound(audit: unknown, entries: readonly unknown[], anchors: Anchors): Verdict {
  const shaped = Audit.safeParse(audit);
  if (!shaped.success) return refuse(shapeMisfit(shaped.error, ''));
  const parsed: Entry[] = [];
  for (const [i, entry] of entries.entries()) {
    const line = Entry.safeParse(entry);
    if (!line.success) return refuse(shapeMisfit(line.error, `entries[${i}]`));
    parsed.push(line.data);
  }
  const given = read(shaped.data, parsed, anchors);
  if ('wrong' in given) return refuse(given);
  for (const check of CHECKS) {
    const misfit = check(given);
    if (misfit !== null) return refuse(misfit);
  }
  const difference = firstDifference(buildAudit(given.facts, given.tree), given.audit, '');
  if (difference !== null) return refuse(difference);
  return { ok: true, state: stateOf(given.audit) };
}

const refuse = (misfit: Misfit): Verdict => ({ ok: false, ...misfit });

function stateOf({ void: reason, commitment, draw }: Audit): 'closing' | 'committed' | 'finalized' | 'void' {
  if (reason !== null) return 'void';
  if (commitment === null) return 'closing';
  return draw === null ? 'committed' : 'finalized';
}

/** Takes from the audit only what nothing else tells: the rest is computed. */
function read(audit: Audit, entries: readonly Entry[], anchors: Anchors): Given | Misfit {
  const { commitment } = audit;
  if (anchors.landed !== null) {
    if (commitment === null) return { wrong: 'commitment', why: `is missing: it landed as ${anchors.landed.signature}` };
    const { sequence: _sequence, previous: _previous, hash: _hash, ...shown } = commitment;
    const difference = firstDifference(anchors.landed, shown, 'commitment');
    if (difference !== null) return difference;
  }
  const memo = commitment === null ? null : parseMemo(commitment.memo);
  if (commitment !== null && memo === null) return { wrong: 'commitment.memo', why: 'is no commitment' };
  const facts: RoundFacts = {
    parameters: audit.parameters,
    entries,
    commitment: commitment === null ? null : LandedCommitment.strip().parse(commitment),
    beacon: commitment === null ? null : { chain: anchors.beacon, signature: audit.beacon?.signature ?? null },
    void: audit.void,
  };
  return { audit, facts, tree: treeOf(facts), anchors, memo };
}

type Check = (given: Given) => Misfit | null;
const unless = (holds: boolean, wrong: string, why: string): Misfit | null => (holds ? null : { wrong, why });

const CHECKS: readonly Check[] = [
  ({ audit }) => unless(audit.round === audit.parameters.round, 'round', `is not that of the parameters, ${audit.parameters.round}`),
  ({ audit, memo }) => unless(memo === null || memo.round === audit.round, 'commitment.memo', 'is that of another round'),
  ({ audit, anchors }) =>
    unless(audit.commitment === null || audit.commitment.committer === anchors.committer, 'commitment.committer', `is not ${anchors.committer}`),
  ({ audit, memo }) =>
    unless(memo === null || memo.parametersHash === parametersHash(audit.parameters), 'parameters', 'are not those of the commitment'),
  ({ audit, anchors }) =>
    unless(audit.parameters.leadSec >= anchors.leastLeadSec, 'parameters.leadSec', `is less than ${anchors.leastLeadSec} seconds`),
  ({ audit, anchors }) =>
    unless(audit.parameters.marginSec >= anchors.leastMarginSec, 'parameters.marginSec', `is less than ${anchors.leastMarginSec} seconds`),
  ({ anchors }) => unless(chainHashOf(anchors.beacon) === anchors.beacon.chainHash, 'beacon.chainHash', 'is not the hash of the pinned chain'),
  ({ anchors, memo }) => unless(memo === null || memo.chainHash === anchors.beacon.chainHash, 'commitment.memo', 'names another beacon'),
  checkEntries,
  checkBlockTime,
  checkSignature,
  checkVoid,
];

function doEntriesFit({ facts, tree, memo }: Given): boolean {
  if (memo === null) return true;
  return memo.count === facts.entries.length && tree !== null && memo.entriesRoot === treeRoot(tree);
}

function checkEntries(given: Given): Misfit | null {
  // Then their misfit is what makes the round void, and `checkVoid` looks at it.
  if (given.audit.void === 'entries-differ') return null;
  if (!doEntriesFit(given)) return firstStray(given) ?? { wrong: 'entries', why: 'are not those of the commitment' };
  return brokenRule(given.audit.parameters, given.facts.entries);
}

/** Which entry is not as it was committed to. The hashes in the audit tell, where they are those of the commitment. */
function firstStray({ audit: { entryHashes }, tree, memo }: Given): Misfit | null {
  if (memo === null || entryHashes.length !== memo.count || rootOverLeaves(entryHashes) !== memo.entriesRoot) return null;
  const own = tree === null ? [] : leavesOf(tree);
  const at = entryHashes.findIndex((hash, i) => hash !== own[i]);
  if (at < 0) return { wrong: `entries[${entryHashes.length}]`, why: 'was not committed to' };
  return { wrong: `entries[${at}]`, why: at < own.length ? `has not the hash that was committed to, ${entryHashes[at]}` : 'is missing' };
}

function isLate({ audit, anchors, memo }: Given): boolean {
  if (memo === null || audit.commitment === null) return false;
  return !isInTime(anchors.beacon, memo.beaconRound, millis(audit.commitment.blockTime), audit.parameters.marginSec);
}

function checkBlockTime(given: Given): Misfit | null {
  return unless(given.audit.void === 'late-block' || !isLate(given), 'commitment.blockTime', 'is too late for the beacon’s round');
}

function checkSignature({ facts, anchors, memo }: Given): Misfit | null {
  const signature = facts.beacon?.signature ?? null;
  if (signature === null || memo === null) return null;
  const holds = anchors.verifySignature(anchors.beacon, memo.beaconRound, signature);
  return unless(holds, 'beacon.signature', `is not the beacon’s of round ${memo.beaconRound}`);
}

function checkVoid(given: Given): Misfit | null {
  const { audit, facts, memo } = given;
  const signature = facts.beacon?.signature ?? null;
  switch (audit.void) {
    case null:
      return null;
    case 'no-entries':
      return unless(memo === null && facts.entries.length === 0, 'void', 'there are entries');
    case 'late-block':
      return unless(isLate(given), 'void', 'the commitment’s block was in time');
    case 'no-beacon':
      return unless(memo !== null && signature === null, 'void', memo === null ? 'nothing was committed to' : 'the beacon’s signature is there');
    case 'entries-differ':
      return unless(!doEntriesFit(given), 'void', 'the entries are those of the commitment');
  }
}
