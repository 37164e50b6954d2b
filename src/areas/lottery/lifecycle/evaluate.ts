import type { Audit, LandedCommitment } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { buildAudit, treeOf } from '#lib/draw/build.ts';
import { type Entry, treeRoot } from '#lib/draw/entry.ts';
import type { Mismatch } from '#lib/draw/mismatch.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import { findBrokenRule } from '#lib/draw/rules.ts';
import { verifyRound } from '#lib/draw/verify.ts';
import { buildTree } from '#lib/merkle.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';

/** Input of an evaluation. A round is evaluated after its entries are frozen, and again for its draw. */
interface EvaluationInput {
  readonly parameters: RoundParameters;
  /** All entries of the round in the database, ordered by index. */
  readonly entries: readonly Entry[];
  /** The commitment and the verified signature that the randomness beacon published; null before the draw. */
  readonly committed: {
    readonly root: string;
    readonly commitment: LandedCommitment;
    readonly chain: BeaconChain;
    readonly signature: string;
  } | null;
}

/** The input of an evaluation without the entries. */
export type EvaluationRequest = Omit<EvaluationInput, 'entries'>;

export type Evaluation =
  /** The entries are valid. `audit.entryHashes` is empty, because `tree` contains the hashes. */
  | { readonly result: 'valid'; readonly count: number; readonly tree: readonly Uint8Array[]; readonly root: string; readonly audit: Audit }
  /** The entries break a rule, or `verifyRound` rejects the draw. */
  | ({ readonly result: 'invalid' } & Mismatch)
  /** The entries differ from the entries that the commitment names. `tree`: the tree over the given entries; null when there are no entries. */
  | { readonly result: 'mismatch'; readonly tree: readonly Uint8Array[] | null };

/**
 * Validates a round's entries and computes their tree and the audit. Takes seconds for 100,000 entries.
 * @param leaves concatenated hashes of the entries; undefined when they are not computed yet
 */
export function evaluateRound({ parameters, entries, committed }: EvaluationInput, leaves?: Uint8Array): Evaluation {
  const fault = committed === null ? findBrokenRule(parameters, entries) : null;
  if (fault !== null) return { result: 'invalid', ...fault };
  const tree = leaves && entries.length > 0 ? buildTree(leaves) : treeOf({ parameters, entries });
  const root = tree && treeRoot(tree);
  if (tree === null || root === null || (committed !== null && root !== committed.root)) return { result: 'mismatch', tree };
  const beacon = committed && { chain: committed.chain, signature: committed.signature };
  const audit = buildAudit({ parameters, entries, commitment: committed?.commitment ?? null, beacon, void: null }, tree);
  const mismatch = committed && verify(audit, entries, committed, parameters);
  return mismatch ? { result: 'invalid', ...mismatch } : { result: 'valid', count: entries.length, tree, root, audit: { ...audit, entryHashes: [] } };
}

function verify(
  audit: Audit,
  entries: readonly Entry[],
  { commitment, chain }: NonNullable<EvaluationInput['committed']>,
  parameters: RoundParameters,
): Mismatch | null {
  const verdict = verifyRound(audit, entries, {
    ...{ beacon: chain, verifySignature, committer: commitment.committer, landed: commitment },
    ...{ minLeadSec: parameters.leadSec, minMarginSec: parameters.marginSec },
  });
  if (!verdict.ok) return { where: verdict.where, reason: verdict.reason };
  return verdict.state === 'finalized' ? null : { where: 'draw', reason: `makes the round ${verdict.state}` };
}
