import type { LandedCommitment } from './audit.ts';
import { commitmentHash, MEMO_PREFIX, NO_PREVIOUS, parseMemo } from './commitment.ts';
import type { Misfit } from './mismatch.ts';

/** A memo that landed, and in which transaction. */
export type LandedMemo = Pick<LandedCommitment, 'memo' | 'signature'>;

/** The commitment of each round, by the round's id; or what is wrong, by the signature of the transaction that shows it. */
export type HistoryVerdict<Landed extends LandedMemo> =
  | { readonly ok: true; readonly byRound: ReadonlyMap<string, Landed> }
  | ({ readonly ok: false } & Misfit);

/**
 * Checks everything that the committer's key ever committed to: sequence numbers run 1, 2, 3, … without a gap or a second use, each
 * names the hash of the one before, and no round is committed to twice. Of two, the first on the chain counts; the second is evidence.
 * @param landed the finalized memos that the key signed, in the order of the chain. Memos that do not mean to be commitments are passed over.
 */
export function verifyHistory<Landed extends LandedMemo>(landed: readonly Landed[]): HistoryVerdict<Landed> {
  const byRound = new Map<string, Landed>();
  let [last, previous] = [0, NO_PREVIOUS];
  for (const one of landed) {
    if (!one.memo.startsWith(MEMO_PREFIX)) continue;
    const refuse = (why: string): HistoryVerdict<Landed> => ({ ok: false, wrong: one.signature, why });
    const commitment = parseMemo(one.memo);
    if (commitment === null) return refuse('its memo is no commitment, though it begins like one');
    const { sequence, round } = commitment;
    if (sequence <= last) return refuse(`sequence number ${sequence} was used before`);
    if (sequence > last + 1) return refuse(`sequence number ${last + 1} is missing before ${sequence}`);
    if (commitment.previous !== previous) return refuse(`it does not name the commitment with sequence number ${last}`);
    if (byRound.has(round)) return refuse(`round ${round} is committed to a second time`);
    byRound.set(round, one);
    [last, previous] = [sequence, commitmentHash(one.memo)];
  }
  return { ok: true, byRound };
}
