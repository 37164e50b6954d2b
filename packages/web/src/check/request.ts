import type { Step, Verdict } from '../../../verify/src/index.ts';

/** Addresses of Solana that the visitor knows from another source. */
export type Pins = Readonly<Record<string, string>>;

/** A request of the page to the worker. `house` is the origin of the service. */
export type CheckRequest =
  | {
      readonly kind: 'round';
      readonly id: string;
      readonly house: string;
      readonly rpc: string;
      readonly beacons: readonly string[] | null;
      readonly pins: Pins;
      /** Receipts of entries that this browser keeps. */
      readonly receipts: readonly unknown[];
      readonly development: boolean;
    }
  | { readonly kind: 'epoch'; readonly id: string; readonly house: string; readonly rpc: string; readonly pins: Pins }
  | { readonly kind: 'score'; readonly id: string; readonly house: string };

/** The outcome of a check. */
export interface CheckResult {
  readonly verdict: Verdict;
  readonly steps: readonly Step[];
  readonly onTheHousesWord: readonly string[];
  /** Whether the round was drawn under development rules, which protect nobody. */
  readonly isDevelopment: boolean;
  /** Winning numbers and winners of a round, computed by the worker; null otherwise. */
  readonly drawn: { readonly numbers: readonly number[]; readonly winners: readonly { readonly place: number; readonly wallet: string }[] } | null;
}

/** A message of the worker to the page. `fault`: the worker has an error of its own, so there is no verdict. */
export type CheckMessage =
  | { readonly type: 'step'; readonly step: Step }
  | { readonly type: 'result'; readonly result: CheckResult }
  | { readonly type: 'fault'; readonly message: string };
