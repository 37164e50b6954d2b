import type { DrawsAccount } from './accounts.ts';
import { Audit, type LandedCommitment } from './audit.ts';
import { type BeaconChain, chainHashOf } from './beacon-chain.ts';
import { verifySignature } from './beacon-signature.ts';
import { buildAudit } from './build.ts';
import { millis } from './bytes.ts';
import { checkBeaconFacts, checkClose, checkEntryTimes, checkParameters, checkTimes } from './checks.ts';
import { Entry } from './entry.ts';
import { firstDifference, type Mismatch, shapeMismatch } from './mismatch.ts';
import { parametersHash } from './parameters.ts';
import { type EntriesSummary, roundLeaf, summarize } from './round-leaf.ts';
import { findBrokenRule } from './rules.ts';
import { verifyStatement } from './statements.ts';

/** Values that a verifier takes from other sources than the audit. */
export interface TrustAnchors {
  /** The draws account as read from the chain, and its address. */
  readonly draws: DrawsAccount & { readonly address: string };
  /** The beacon chain that the verifier trusts. */
  readonly beacon: BeaconChain;
  /** The commitment as read from the chain; null when the chain has none. */
  readonly landed: LandedCommitment | null;
  /** Replaces the verification of beacon signatures, for example with one that remembers results. */
  readonly verifySignature?: typeof verifySignature;
}

/** Result of a verification: the state of the verified round, or the first mismatch with its path in the audit or in the entries. */
export type RoundVerdict =
  | { readonly ok: true; readonly state: 'closing' | 'committed' | 'finalized' | 'void' }
  | ({ readonly ok: false } & Mismatch);

const rejected = (mismatch: Mismatch): RoundVerdict => ({ ok: false, ...mismatch });

/**
 * Verifies the audit of a round against its entries and the chain. Checks in this order:
 * 1. the schemas of the audit and of the entries
 * 2. the commitment, compared with the chain
 * 3. the parameters, the draws account and the beacon chain
 * 4. the entries and their rules
 * 5. the signed statements
 * 6. the leaf and the times of the commitment
 * 7. the beacon signature
 * 8. every field of the audit, compared with the audit that `buildAudit` computes
 * @param entries list of all published entries, ordered by index
 */
export function verifyAudit(audit: unknown, entries: readonly unknown[], anchors: TrustAnchors): RoundVerdict {
  const shaped = Audit.safeParse(audit);
  if (!shaped.success) return rejected(shapeMismatch(shaped.error, ''));
  const parsed: Entry[] = [];
  for (const [i, entry] of entries.entries()) {
    const line = Entry.safeParse(entry);
    if (!line.success) return rejected(shapeMismatch(line.error, `entries[${i}]`));
    parsed.push(line.data);
  }
  const { parameters } = shaped.data;
  const hash = parametersHash(parameters);
  const given: RoundToVerify = { audit: shaped.data, entries: parsed, anchors, hash, summary: summarize(parameters.round, hash, parsed) };
  for (const check of CHECKS) {
    const mismatch = check(given);
    if (mismatch !== null) return rejected(mismatch);
  }
  const difference = firstDifference(rebuild(given), given.audit, '');
  return difference === null ? { ok: true, state: stateOf(given.audit) } : rejected(difference);
}

interface RoundToVerify {
  readonly audit: Audit;
  readonly entries: readonly Entry[];
  readonly anchors: TrustAnchors;
  /** Hash of the parameters, hex. */
  readonly hash: string;
  /** Values of the entries. */
  readonly summary: EntriesSummary;
}

function rebuild({ audit, entries, anchors, summary }: RoundToVerify): Audit {
  const { parameters, announcement, closed } = audit;
  const beacon = anchors.landed && { chain: anchors.beacon, signature: audit.beacon?.signature ?? null };
  const reason = entries.length === 0 ? 'no-entries' : null;
  return buildAudit({ parameters, announcement, closed, entries: summary, commitment: anchors.landed, beacon, void: reason }, entries);
}

function stateOf({ void: reason, commitment, draw }: Audit): 'closing' | 'committed' | 'finalized' | 'void' {
  if (reason !== null) return 'void';
  if (commitment === null) return 'closing';
  return draw === null ? 'committed' : 'finalized';
}

type Check = (given: RoundToVerify) => Mismatch | null;
const mismatchUnless = (holds: boolean, wrong: string, why: string): Mismatch | null => (holds ? null : { where: wrong, reason: why });

const CHECKS: readonly Check[] = [
  ({ audit }) => mismatchUnless(audit.round === audit.parameters.round, 'round', `is not the round of the parameters, ${audit.parameters.round}`),
  checkLanded,
  ({ audit, anchors }) => checkParameters(audit.parameters, anchors.draws),
  ({ audit, hash }) => mismatchUnless(audit.parametersHash === hash, 'parametersHash', 'is not the hash of the parameters'),
  ({ anchors }) =>
    mismatchUnless(chainHashOf(anchors.beacon) === anchors.beacon.chainHash, 'beacon.chainHash', 'is not the hash of the pinned chain'),
  ({ anchors }) => checkBeaconFacts(anchors.draws, anchors.beacon),
  ({ audit, entries }) => findBrokenRule(audit.parameters, entries),
  ({ audit, entries }) => checkEntryTimes(entries, millis(audit.closed.statement.closedAt)),
  checkStatements,
  checkLeaf,
  ({ audit, anchors }) => anchors.landed && checkTimes(audit.parameters, anchors.draws, millis(audit.closed.statement.closedAt), anchors.landed),
  checkSignature,
];

function checkLanded({ audit: { commitment, void: reason }, anchors: { landed } }: RoundToVerify): Mismatch | null {
  if (landed === null) return mismatchUnless(commitment === null, 'commitment', 'does not exist on the chain');
  if (reason !== null) return { where: 'void', reason: `contradicts the commitment account ${landed.account}` };
  if (commitment === null) return { where: 'commitment', reason: `is missing, but the account ${landed.account} contains it` };
  return firstDifference(landed, commitment, 'commitment');
}

function checkStatements({ audit, anchors, hash, summary: { count, runningHash } }: RoundToVerify): Mismatch | null {
  const { announcement, closed, parameters } = audit;
  for (const [name, signed] of [['announcement', announcement] as const, ['closed', closed] as const]) {
    const { draws, round, parametersHash: stated } = signed.statement;
    const shared = firstDifference(
      { draws: anchors.draws.address, round: parameters.round, parametersHash: hash },
      { draws, round, parametersHash: stated },
      `${name}.statement`,
    );
    if (shared !== null) return shared;
    if (!verifyStatement(anchors.draws.receiptKey, signed)) return { where: `${name}.signature`, reason: 'is not a signature of the receipt key' };
  }
  const { closedAt, count: stated, runningHash: running } = closed.statement;
  return (
    checkClose(parameters, millis(closedAt)) ?? firstDifference({ count, runningHash }, { count: stated, runningHash: running }, 'closed.statement')
  );
}

function checkLeaf({ audit, anchors: { landed }, hash, summary: { root, count, runningHash } }: RoundToVerify): Mismatch | null {
  if (landed === null) return null;
  const { parameters, closed } = audit;
  const closedAt = millis(closed.statement.closedAt);
  const leaf = root === null ? null : roundLeaf({ round: parameters.round, root, count, runningHash, parametersHash: hash, closedAt });
  return mismatchUnless(leaf === landed.leaf, 'entries', 'do not match the leaf in the commitment');
}

function checkSignature({ audit, anchors }: RoundToVerify): Mismatch | null {
  const signature = audit.beacon?.signature ?? null;
  if (signature === null || anchors.landed === null) return null;
  const { beaconRound } = anchors.landed;
  const holds = (anchors.verifySignature ?? verifySignature)(anchors.beacon, beaconRound, signature);
  return mismatchUnless(holds, 'beacon.signature', `is not the beacon’s signature of round ${beaconRound}`);
}
