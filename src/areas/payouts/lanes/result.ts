/**
 * The result of comparing one lane with the chain:
 *   `clear`: no difference was found.
 *   `behind`: the RPC node has not reached the slot at which the lane was last read.
 *   `waits`: the database does not have all data yet; the text is the reason.
 *   `unexplained`: no transaction in the database explains the nonce, so the history of the lane must be read. `reading`: the next part can be read at
 *   once. `stuck`: the RPC nodes do not return it at present.
 *   `problems`: one sentence per difference.
 */
export type LaneResult =
  | 'clear'
  | 'behind'
  | { readonly waits: string }
  | { readonly unexplained: 'reading' | 'stuck'; readonly reason: string }
  | { readonly problems: readonly [string, ...string[]] };

/** The finalized nonce of a lane's account, and the slot at which it was read. `value` is null when the account does not exist. */
export interface ReadNonce {
  readonly value: string | null;
  readonly slot: number;
}

const READING = 'no transaction in the database explains the nonce, so the history of the nonce account is being read';

/** Returns the result for a lane whose history must be read. @param stuck reason why it cannot be read at present */
export const unexplained = (stuck: string | null = null) =>
  ({ unexplained: stuck === null ? 'reading' : 'stuck', reason: stuck === null ? READING : `${READING}; ${stuck}` }) as const;

/** Returns the reason why a lane waits; null when it does not wait. */
export function reasonOf(result: LaneResult): string | null {
  if (typeof result === 'string') return null;
  if ('problems' in result) return result.problems.join('; ');
  return 'waits' in result ? result.waits : result.reason;
}
