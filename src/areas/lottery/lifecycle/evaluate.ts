import type { DrawsAccount } from '#lib/draw/accounts.ts';
import type { Audit, LandedCommitment } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { buildAudit, type RoundFacts } from '#lib/draw/build.ts';
import { fromHex, toHex } from '#lib/draw/bytes.ts';
import { type Entry, entryLeaves, treeRoot } from '#lib/draw/entry.ts';
import type { Mismatch } from '#lib/draw/mismatch.ts';
import { extendRunningHash } from '#lib/draw/round-leaf.ts';
import { findBrokenRule } from '#lib/draw/rules.ts';
import { verifyAudit } from '#lib/draw/verify.ts';
import { buildTree } from '#lib/merkle.ts';

/** A closed round. It is evaluated after its entries are frozen, and again for its draw. */
export interface EvaluationRequest extends Pick<RoundFacts, 'parameters' | 'announcement' | 'closed'> {
  readonly parametersHash: string;
  /** The draws account, the commitment, and the verified signature of the randomness beacon; null before the draw. */
  readonly committed: {
    readonly draws: DrawsAccount & { readonly address: string };
    readonly commitment: LandedCommitment;
    readonly chain: BeaconChain;
    readonly signature: string;
  } | null;
}

export type Evaluation =
  | { readonly result: 'valid'; readonly tree: readonly Uint8Array[]; readonly root: string; readonly audit: Audit }
  /** The stored entries are not those of the closed round, they break a rule, or `verifyAudit` rejects the draw. */
  | ({ readonly result: 'invalid' } & Mismatch);

/**
 * Validates a closed round's entries and computes their tree and the audit. Takes seconds for 100,000 entries.
 * @param entries all entries of the round in the database, ordered by index
 * @param leaves result of `entryLeaves`, if the caller has computed it already
 */
export function evaluateRound(
  { parameters, parametersHash, announcement, closed, committed }: EvaluationRequest,
  entries: readonly Entry[],
  leaves: Uint8Array = entryLeaves(parameters.round, entries),
): Evaluation {
  const { count, runningHash } = closed.statement;
  const running = toHex(extendRunningHash(fromHex(parametersHash), leaves));
  if (entries.length === 0 || entries.length !== count || running !== runningHash) {
    return { result: 'invalid', where: 'entries', reason: `are not the ${count} entries with the running hash ${runningHash} of the close` };
  }
  const fault = committed === null ? findBrokenRule(parameters, entries) : null;
  if (fault !== null) return { result: 'invalid', ...fault };
  const tree = buildTree(leaves);
  const root = treeRoot(tree);
  const facts = { parameters, announcement, closed, entries: { count, root, runningHash }, void: null };
  if (committed === null) return { result: 'valid', tree, root, audit: buildAudit({ ...facts, commitment: null, beacon: null }, null) };
  const { commitment, chain, signature, draws } = committed;
  const audit = buildAudit({ ...facts, commitment, beacon: { chain, signature } }, entries);
  const verdict = verifyAudit(audit, entries, { draws, beacon: chain, landed: commitment });
  if (!verdict.ok) return { result: 'invalid', where: verdict.where, reason: verdict.reason };
  if (verdict.state !== 'finalized') return { result: 'invalid', where: 'draw', reason: `makes the round ${verdict.state}` };
  return { result: 'valid', tree, root, audit };
}
