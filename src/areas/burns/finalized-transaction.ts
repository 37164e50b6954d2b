import type { ParsedBurn } from '#platform/solana/burn-instructions.ts';
import type { BurnSource, MemoFault } from './schemas.ts';

/** A finalized transaction and its burns; `burns` is empty when the transaction contains none. */
export interface FinalizedTransaction {
  readonly signature: string;
  readonly slot: number;
  /** Time of the transaction's block, ms since 1970. */
  readonly at: number;
  /** The event and the source that the memo names, or the reason why no event is named. */
  readonly memo: { readonly event: string; readonly source: BurnSource } | MemoFault;
  readonly burns: readonly ParsedBurn[];
  /** Burns that the owner of the tokens did not sign. */
  readonly delegatedBurns: readonly ParsedBurn[];
}
