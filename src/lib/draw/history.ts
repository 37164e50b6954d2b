import type { LandedCommitment } from './audit.ts';
import { commitmentHash, MEMO_PREFIX, NO_PREVIOUS, parseMemo } from './commitment.ts';
import type { Mismatch } from './mismatch.ts';

/** A memo on the chain, and the signature of its transaction. */
type LandedMemo = Pick<LandedCommitment, 'memo' | 'signature'>;

/**
 * Result of a check. `byRound`: the commitment of each round, with the round id as the key. If an error was found, `where` is the signature of the
 * first transaction with an error.
 */
type HistoryVerdict<Landed extends LandedMemo> =
  | { readonly ok: true; readonly byRound: ReadonlyMap<string, Landed> }
  | ({ readonly ok: false } & Mismatch);

/**
 * Checks all commitments of one committer key:
 * - The sequence numbers are 1, 2, 3, … without a gap or a repetition.
 * - Each commitment contains the hash of the previous commitment.
 * - Each round has at most one commitment.
 * @param landed list of the finalized memos that the key signed, in the order of the chain; memos without `MEMO_PREFIX` are skipped
 */
export function verifyHistory<Landed extends LandedMemo>(landed: readonly Landed[]): HistoryVerdict<Landed> {
  const byRound = new Map<string, Landed>();
  let [last, previous] = [0, NO_PREVIOUS];
  for (const one of landed) {
    if (!one.memo.startsWith(MEMO_PREFIX)) continue;
    const refuse = (why: string): HistoryVerdict<Landed> => ({ ok: false, where: one.signature, reason: why });
    const commitment = parseMemo(one.memo);
    if (commitment === null) return refuse('its memo has the prefix of a commitment but not its format');
    const { sequence, round } = commitment;
    if (sequence <= last) return refuse(`sequence number ${sequence} was used before`);
    if (sequence > last + 1) return refuse(`sequence number ${last + 1} is missing before ${sequence}`);
    if (commitment.previous !== previous) return refuse(`it does not name the hash of the commitment with sequence number ${last}`);
    if (byRound.has(round)) return refuse(`round ${round} has two commitments`);
    byRound.set(round, one);
    [last, previous] = [sequence, commitmentHash(one.memo)];
  }
  return { ok: true, byRound };
}
