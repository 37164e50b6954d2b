import type { CommitmentAccount, DrawsAccount } from '../../../src/lib/draw/accounts.ts';
import type { Audit } from '../../../src/lib/draw/audit.ts';
import type { Entry } from '../../../src/lib/draw/entry.ts';
import type { EntriesSummary } from '../../../src/lib/draw/round-leaf.ts';
import type { Winner } from '../../../src/lib/draw/winners.ts';
import type { Chain } from './chain.ts';
import type { Evidence } from './evidence.ts';
import type { House } from './house.ts';
import type { Report } from './report.ts';
import type { HttpSource } from './sources.ts';

/** What all checks of a verification use. */
export interface Context {
  readonly report: Report;
  readonly id: string;
  readonly chain: Chain;
  readonly house: House;
  readonly beacon: HttpSource;
  readonly evidence: Evidence;
  /** Hash of the beacon chain that the verifier pinned. */
  readonly pinnedBeacon: string | undefined;
  /** Time at which the verification began, ms since 1970. */
  readonly now: number;
  readonly wait: (ms: number) => Promise<void>;
}

/** The draws account and the commitment of a round, read from the chain. `program`: the owner of the draws account. */
export interface OnChain {
  readonly program: string;
  readonly draws: DrawsAccount & { readonly address: string };
  readonly commitment: (CommitmentAccount & { readonly address: string }) | null;
}

/** The facts of the round after its documents and the chain were compared and agree. */
export interface KnownRound extends OnChain {
  readonly audit: Audit;
  readonly hash: string;
  readonly entries: readonly Entry[];
  readonly summary: EntriesSummary;
  readonly closedAt: number;
}

/** The result that the verifier computed itself. In a legacy round `numbers` is empty. */
export interface RoundResult {
  readonly numbers: readonly number[];
  readonly winners: readonly Winner[];
}
