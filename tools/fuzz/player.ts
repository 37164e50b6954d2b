import type { TestWallet } from '#test/support/wallet.ts';

/** A signed-in wallet. */
export interface Player {
  readonly wallet: TestWallet;
  readonly address: string;
  cookie: string;
}
