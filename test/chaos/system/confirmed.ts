/** Everything that the service has confirmed to clients by 2xx responses. All of it must exist at the end of the run. */
export interface Confirmed {
  readonly plays: { readonly playId: string; readonly wallet: string }[];
  readonly scores: ConfirmedScore[];
  readonly messages: { readonly messageId: string; readonly wallet: string; readonly text: string }[];
  readonly entries: ConfirmedEntry[];
  readonly battles: { readonly battleId: string; readonly wallets: readonly string[] }[];
  readonly claims: { readonly claimId: string; readonly wallet: string; readonly epoch: number }[];
  readonly tickets: {
    readonly ticketId: string;
    readonly round: string;
    readonly wallet: string;
    readonly signature: string;
    readonly final: boolean;
  }[];
  readonly deliveries: { readonly id: string; readonly messageId: string }[];
  readonly tasks: { readonly wallet: string; readonly taskId: string; readonly points: number }[];
  readonly clips: { readonly id: string; readonly wallet: string; readonly sha256: string }[];
  readonly sessions: { readonly wallet: string; readonly cookie: string }[];
  readonly signedOut: { readonly wallet: string; readonly cookie: string }[];
  /** Chat rounds that were started. */
  readonly rounds: string[];
  readonly legacyRounds: string[];
  readonly epochs: { readonly epoch: number; readonly total: bigint }[];
  /** USDC base units that each wallet got before the run. */
  readonly funded: Map<string, bigint>;
  /** Every payment that wallets signed, landed or not. */
  readonly payments: { readonly wallet: string; readonly signature: string; readonly amount: bigint }[];
}

export interface ConfirmedScore {
  readonly scoreId: string;
  readonly wallet: string;
  readonly playId: string;
  readonly normalized: number;
  readonly points: number;
  readonly battleId: string | null;
  /** `accepted`, or `held`: a moderator must decide. */
  readonly status: string;
}

export interface ConfirmedEntry {
  readonly id: string;
  readonly wallet: string;
  readonly round: string;
  readonly sequence: number;
  readonly leaf: string;
}

/** A response 429 to a player. */
export interface Refusal {
  /** Time on the clock of `performance.now()`. */
  readonly at: number;
  readonly path: string;
  /** The header `RateLimit-Policy`. */
  readonly policy: string;
  readonly isSignedIn: boolean;
}

/** Everything that a run records. */
export interface RunRecord {
  readonly confirmed: Confirmed;
  /** Unexpected responses and timeouts. Each is a failure of the run. */
  readonly violations: string[];
  /** Number of responses per status; 0 is a lost connection. */
  readonly statuses: Map<number, number>;
  readonly refusals: Refusal[];
}

export const newRunRecord = (): RunRecord => ({
  confirmed: {
    ...{ plays: [], scores: [], messages: [], entries: [], battles: [], claims: [], tickets: [], deliveries: [], tasks: [], clips: [] },
    ...{ sessions: [], signedOut: [], rounds: [], legacyRounds: [], epochs: [], funded: new Map(), payments: [] },
  },
  violations: [],
  statuses: new Map(),
  refusals: [],
});

/** Returns a sentence with the numbers of confirmed items and responses. */
export function summary({ confirmed, statuses }: RunRecord): string {
  const counts = Object.entries(confirmed).map(([name, list]) => `${list instanceof Map ? list.size : list.length} ${name}`);
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${status || 'no connection'} × ${n}`);
  return `confirmed: ${counts.join(', ')}; responses: ${answers.join(', ')}`;
}
