import { session } from '../session/session.ts';

/** Returns the first and last letters of an address. */
export const shortWallet = (wallet: string): string => (wallet.length <= 11 ? wallet : `${wallet.slice(0, 4)}…${wallet.slice(-4)}`);

/** Shows a wallet by its name or its short address, and marks the visitor’s own wallet. */
export function WalletName({ wallet, name = null }: { wallet: string; name?: string | null }) {
  const isOwn = session.value?.wallet === wallet;
  return (
    <span class={isOwn ? 'wallet-name own' : 'wallet-name'} title={wallet}>
      {name ?? shortWallet(wallet)}
      {isOwn && <span class="you"> (you)</span>}
    </span>
  );
}
