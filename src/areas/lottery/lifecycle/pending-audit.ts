import type { LandedCommitment, VoidReason } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { auditText } from '../audits.ts';
import type { OpenedRound } from './rows.ts';

/** A commitment that has landed, and the chain of the beacon that it names. */
export interface Landed {
  readonly commitment: LandedCommitment;
  readonly chain: BeaconChain;
}

/** The text of the audit of a round that is not drawn (yet, or ever), as it is stored. Its entries are not needed: their root is known. */
export function undrawnAudit(round: Pick<OpenedRound, 'parameters' | 'entries' | 'root'>, landed: Landed | null, reason: VoidReason | null): string {
  const { parameters, entries: count, root } = round;
  const beacon = landed === null ? null : { chain: landed.chain, signature: null };
  const audit = buildAudit({ parameters, entries: [], commitment: landed?.commitment ?? null, beacon, void: reason }, null);
  return auditText({ ...audit, entries: { count, root } });
}
