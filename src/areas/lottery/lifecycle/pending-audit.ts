import type { LandedCommitment, VoidReason } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { auditText } from '../audits.ts';
import type { OpenedRound } from './rows.ts';

/** A finalized commitment, and the chain of the randomness beacon that the commitment names. */
export interface CommitmentWithBeacon {
  readonly commitment: LandedCommitment;
  readonly chain: BeaconChain;
}

/**
 * Returns the audit of a round that has no draw, as JSON text. Takes the root and the number of entries from `round` instead of reading the entries.
 */
export function pendingAuditText(
  round: Pick<OpenedRound, 'parameters' | 'entries' | 'root'>,
  landed: CommitmentWithBeacon | null,
  reason: VoidReason | null,
): string {
  const { parameters, entries: count, root } = round;
  const beacon = landed === null ? null : { chain: landed.chain, signature: null };
  const audit = buildAudit({ parameters, entries: [], commitment: landed?.commitment ?? null, beacon, void: reason }, null);
  return auditText({ ...audit, entries: { count, root } });
}
