import { setTimeout as sleep } from 'node:timers/promises';
import { readDecimals } from '#areas/lottery';
import type { App } from '#platform/app.ts';

/** Maximum time that a page waits for the decimals of the tokens, ms. They are cached, so only the first pages after a start wait. */
const DECIMALS_WITHIN_MS = 500;

/** Values that the script of the arcade page needs before its first request. Everybody can read them. */
export interface WebSettings {
  /** Whether visitors may sign in with a key that the page creates. */
  readonly development: boolean;
  /** The RPC node that check pages suggest: the localnet; null with any other node, because its URL may contain a key of the operator. */
  readonly rpc: string | null;
  /** The beacon of the localnet, which check pages ask instead of the mirrors of drand; null with any other node. */
  readonly beacon: string | null;
  /** Solana cluster of the sign-in, for wallets. */
  readonly chain: string;
  /** Whether a wallet needs enough of the token to start a play. */
  readonly gated: boolean;
  /** Difference between the clock of the service and the time in its `Date` headers, ms; 0 except with a development clock. */
  readonly clockOffsetMs: number;
  /** Decimals of the tokens; null while the chain cannot be read. Then the page shows base units. */
  readonly decimals: { readonly reward: number; readonly usdc: number } | null;
}

/** Returns the settings of the arcade page. */
export async function webSettings(app: App): Promise<WebSettings> {
  const { production, chain, signIn, clockOffsetMs } = app.config;
  const decimals = await Promise.race([
    readDecimals(app).catch((error: unknown) => {
      app.log.debug({ err: error }, 'the decimals of the tokens cannot be read; the arcade page shows base units');
      return null;
    }),
    sleep(DECIMALS_WITHIN_MS, null, { ref: false }),
  ]);
  const isLocal = !production && isLoopback(chain.rpcUrl);
  return {
    development: !production,
    rpc: isLocal ? chain.rpcUrl : null,
    beacon: isLocal ? (chain.beacon.urls[0] ?? null) : null,
    chain: signIn.chain,
    gated: chain.tokenGate.play,
    clockOffsetMs,
    decimals,
  };
}

/** Returns whether a URL leads to this machine. */
const isLoopback = (url: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
