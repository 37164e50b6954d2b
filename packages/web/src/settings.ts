/** Values that the page needs before its first request. The service writes them into a meta element of every page; see src/areas/web/settings.ts. */
export interface Settings {
  /** Whether visitors may sign in with a key that the page creates. */
  readonly development: boolean;
  /** The RPC node that check pages suggest; null in production. */
  readonly rpc: string | null;
  /** The beacon that check pages ask instead of the mirrors of drand; null in production. */
  readonly beacon: string | null;
  /** Solana cluster of the sign-in: mainnet, testnet, devnet or localnet. */
  readonly chain: string;
  /** Whether a wallet needs enough of the arcade’s token to start a play. */
  readonly gated: boolean;
  /** Difference between the clock of the service and the time in its `Date` headers, ms; 0 except with a development clock. */
  readonly clockOffsetMs: number;
  /** Decimals of the tokens; null when the service could not read them, so amounts are shown in base units. */
  readonly decimals: { readonly reward: number; readonly usdc: number } | null;
}

/** The settings of a service that names none of its own, such as an older process during a deployment. */
const DEFAULTS: Settings = { development: false, rpc: null, beacon: null, chain: 'mainnet', gated: false, clockOffsetMs: 0, decimals: null };

const content = document.querySelector<HTMLMetaElement>('meta[name="coinop"]')?.content;

/** The settings of the page. Precondition: the page was served by the service. */
export const settings: Settings = { ...DEFAULTS, ...JSON.parse(content ?? '{}') };
