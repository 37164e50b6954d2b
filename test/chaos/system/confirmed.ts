/** What the service has confirmed to clients, by 2xx answers alone: all of it must be found again in the end. */
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
  /** Rounds of chat that were started. */
  readonly rounds: string[];
  readonly legacyRounds: string[];
  readonly epochs: { readonly epoch: number; readonly total: bigint }[];
  /** What wallets were given to spend, and every payment that they signed, whether it landed or not. */
  readonly purses: Map<string, bigint>;
  readonly payments: { readonly wallet: string; readonly signature: string; readonly amount: bigint }[];
}

export interface ConfirmedScore {
  readonly scoreId: string;
  readonly wallet: string;
  readonly playId: string;
  readonly normalized: number;
  readonly points: number;
  readonly battleId: string | null;
}

export interface ConfirmedEntry {
  readonly id: string;
  readonly wallet: string;
  readonly round: string;
  readonly sequence: number;
  readonly leaf: string;
}

/** Everything that a run writes down. */
export interface Ledger {
  readonly confirmed: Confirmed;
  /** What nobody should ever be answered, and what took too long: each is a failure of the run. */
  readonly complaints: string[];
  /** How often each status was answered; 0 is a broken connection. */
  readonly statuses: Map<number, number>;
}

export const newLedger = (): Ledger => ({
  confirmed: {
    ...{ plays: [], scores: [], messages: [], entries: [], battles: [], claims: [], tickets: [], deliveries: [], tasks: [], clips: [] },
    ...{ sessions: [], signedOut: [], rounds: [], legacyRounds: [], epochs: [], purses: new Map(), payments: [] },
  },
  complaints: [],
  statuses: new Map(),
});

/** How much was confirmed, for people. */
export function summary({ confirmed, statuses }: Ledger): string {
  const counts = Object.entries(confirmed).map(([name, list]) => `${list instanceof Map ? list.size : list.length} ${name}`);
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${status || 'broken'} × ${n}`);
  return `confirmed: ${counts.join(', ')}; answers: ${answers.join(', ')}`;
}
