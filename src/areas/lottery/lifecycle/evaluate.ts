import type { Audit, LandedCommitment } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { buildAudit, treeOf } from '#lib/draw/build.ts';
import { type Entry, treeRoot } from '#lib/draw/entry.ts';
import type { Misfit } from '#lib/draw/mismatch.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import { brokenRule } from '#lib/draw/rules.ts';
import { verifyRound } from '#lib/draw/verify.ts';
import { buildTree } from '#lib/merkle.ts';
import { verifySignature } from '#platform/solana/beacon/signature.ts';

/** A round whose entries are to be judged: frozen, or, once the beacon has spoken, to be drawn. */
export interface Case {
  readonly parameters: RoundParameters;
  /** All that the record has, by index. */
  readonly entries: readonly Entry[];
  /** What was committed to, and the beacon's verified signature. */
  readonly committed: {
    readonly root: string;
    readonly commitment: LandedCommitment;
    readonly chain: BeaconChain;
    readonly signature: string;
  } | null;
}

/** A case before its entries are read. */
export type Question = Omit<Case, 'entries'>;

/** What comes of it. */
export type Judgement =
  /** They stand: how many they are, with their tree, and the audit, whose entry hashes are left out. */
  | { readonly is: 'sound'; readonly count: number; readonly tree: readonly Uint8Array[]; readonly root: string; readonly audit: Audit }
  /** The entries break a rule, or the draw does not stand up to its own verification. */
  | ({ readonly is: 'wrong' } & Misfit)
  /** They are not those that were committed to. */
  | { readonly is: 'other'; readonly tree: readonly Uint8Array[] | null };

/**
 * Computes all that follows from a round's entries: seconds, where there are a hundred thousand.
 * @param leaves of the entries, where they are there already
 */
export function judge({ parameters, entries, committed }: Case, leaves?: Uint8Array): Judgement {
  const fault = committed === null ? brokenRule(parameters, entries) : null;
  if (fault !== null) return { is: 'wrong', ...fault };
  const tree = leaves && entries.length > 0 ? buildTree(leaves) : treeOf({ parameters, entries });
  const root = tree && treeRoot(tree);
  if (tree === null || root === null || (committed !== null && root !== committed.root)) return { is: 'other', tree };
  const beacon = committed && { chain: committed.chain, signature: committed.signature };
  const audit = buildAudit({ parameters, entries, commitment: committed?.commitment ?? null, beacon, void: null }, tree);
  const misfit = committed && verify(audit, entries, committed, parameters);
  return misfit ? { is: 'wrong', ...misfit } : { is: 'sound', count: entries.length, tree, root, audit: { ...audit, entryHashes: [] } };
}

function verify(
  audit: Audit,
  entries: readonly Entry[],
  { commitment, chain }: NonNullable<Case['committed']>,
  parameters: RoundParameters,
): Misfit | null {
  const verdict = verifyRound(audit, entries, {
    ...{ beacon: chain, verifySignature, committer: commitment.committer, landed: commitment },
    ...{ leastLeadSec: parameters.leadSec, leastMarginSec: parameters.marginSec },
  });
  if (!verdict.ok) return { wrong: verdict.wrong, why: verdict.why };
  return verdict.state === 'finalized' ? null : { wrong: 'draw', why: `makes the round ${verdict.state}` };
}
