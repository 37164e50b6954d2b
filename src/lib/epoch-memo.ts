/**
 * The statement of a reward epoch on the chain: the origin of its amounts. For an epoch that was computed from points, it has the SHA-256 (hex) and the
 * length in bytes of the points file.
 */
export type EpochMemo = { readonly source: 'computed'; readonly pointsHash: string; readonly pointsBytes: number } | { readonly source: 'import' };

const PREFIX = 'coinop:epoch:';
const MEMO = new RegExp(`^${PREFIX}(0|[1-9]\\d{0,9}):(?:import|points:([0-9a-f]{64}):([1-9]\\d{0,9}))$`);

/** Returns the memo of the transaction that opens an epoch. */
export const epochMemo = (epoch: number, memo: EpochMemo): string =>
  `${PREFIX}${epoch}:${memo.source === 'import' ? 'import' : `points:${memo.pointsHash}:${memo.pointsBytes}`}`;

/**
 * Parses the memos of the transaction that opens an epoch. Returns null when not exactly one of them has the prefix of epochs, or when this one is
 * malformed or names another epoch.
 */
export function readEpochMemo(epoch: number, memos: readonly string[]): EpochMemo | null {
  const [text = '', ...others] = memos.filter((memo) => memo.startsWith(PREFIX));
  const [, number, pointsHash, pointsBytes] = others.length > 0 ? [] : (MEMO.exec(text) ?? []);
  if (number !== String(epoch)) return null;
  return pointsHash === undefined ? { source: 'import' } : { source: 'computed', pointsHash, pointsBytes: Number(pointsBytes) };
}
