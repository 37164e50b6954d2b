import { concatBytes, fromHex, HASH_BYTES, prefixed, sha256, toHex, u32, u64, utf8, uuidBytes } from './bytes.ts';
import { type Entry, entryLeaves, entryTree, treeRoot } from './entry.ts';

const LABEL = 'coinop/round/1';

/**
 * Returns the running hashes of a list of entries, concatenated, 32 bytes each. The running hash after an entry is the SHA-256 of the running hash
 * before the entry and the leaf of the entry.
 * @param before the running hash before the first of these entries. Before the first entry of a round, it is the hash of the round's parameters
 * @param leaves concatenated leaves of the entries, 32 bytes each
 */
export function runningHashes(before: Uint8Array, leaves: Uint8Array): Uint8Array {
  const hashes = new Uint8Array(leaves.length);
  const block = new Uint8Array(2 * HASH_BYTES);
  block.set(before);
  for (let at = 0; at < leaves.length; at += HASH_BYTES) {
    block.set(leaves.subarray(at, at + HASH_BYTES), HASH_BYTES);
    const next = sha256(block);
    hashes.set(next, at);
    block.set(next);
  }
  return hashes;
}

/** Returns the running hash after a list of entries; equals `before` when there are no entries. For the arguments see `runningHashes`. */
export const extendRunningHash = (before: Uint8Array, leaves: Uint8Array): Uint8Array =>
  leaves.length === 0 ? before : runningHashes(before, leaves).slice(-HASH_BYTES);

/** The values of the frozen entries that a commitment contains. Hashes are hex. The root is null when there are no entries. */
export interface EntriesSummary {
  readonly count: number;
  readonly root: string | null;
  readonly runningHash: string;
}

/**
 * Computes the values of a round's frozen entries.
 * @param parametersHash hash of the round's parameters, hex
 * @param entries all entries of the round, ordered by index
 * @param leaves result of `entryLeaves`, if the caller has computed it already
 */
export function summarize(
  round: string,
  parametersHash: string,
  entries: readonly Entry[],
  leaves: Uint8Array = entryLeaves(round, entries),
): EntriesSummary {
  return {
    count: entries.length,
    root: entries.length === 0 ? null : treeRoot(entryTree(leaves)),
    runningHash: toHex(extendRunningHash(fromHex(parametersHash), leaves)),
  };
}

/** The inputs of the leaf of a round. Hashes are hex. */
export interface RoundLeafInputs {
  readonly round: string;
  readonly root: string;
  /** Number of entries, at least one. */
  readonly count: number;
  /** Running hash after the last entry. */
  readonly runningHash: string;
  readonly parametersHash: string;
  /** Time of the close, ms since 1970. */
  readonly closedAt: number;
}

/**
 * Returns the leaf of a round, hex: the value to which a commitment commits. It is the SHA-256 of the length-prefixed text "coinop/round/1", then
 * without length prefixes: round id (16 bytes), root (32 bytes), count u32, running hash, parameters hash (32 bytes each), time of the close i64 in ms.
 */
export function roundLeaf({ round, root, count, runningHash, parametersHash, closedAt }: RoundLeafInputs): string {
  const hashes = [fromHex(runningHash), fromHex(parametersHash)];
  return toHex(sha256(concatBytes(prefixed(utf8(LABEL)), uuidBytes(round), fromHex(root), u32(count), ...hashes, u64(closedAt))));
}
