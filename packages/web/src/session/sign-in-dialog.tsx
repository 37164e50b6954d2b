import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { settings } from '../settings.ts';
import { useAction } from '../ui/action.ts';
import { announce } from '../ui/announce.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { signInWith } from './session.ts';
import { throwawaySigner } from './throwaway.ts';
import { findWallets, type UsableWallet, wallets } from './wallets.ts';

const isOpen = signal(false);

/** Shows the dialog with the wallets of the visitor. */
export function openSignIn(): void {
  isOpen.value = true;
}

let isSearching = false;

/** The dialog in which a visitor signs in. It asks for a signature of a text only, never for a transaction. */
export function SignInDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const signIn = useAction(async (wallet: UsableWallet | null) => {
    await signInWith(wallet === null ? await throwawaySigner() : await wallet.signer());
    dialog.current?.close();
    announce('You are signed in.');
  });
  useEffect(() => {
    if (!isOpen.value) return;
    if (!isSearching) findWallets();
    isSearching = true;
    signIn.clear();
    dialog.current?.showModal();
  }, [isOpen.value, signIn]);
  const close = () => {
    isOpen.value = false;
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="sign-in-title" onClose={close}>
      <h2 id="sign-in-title">Sign in</h2>
      <p>Your wallet signs a text. This costs nothing and allows no payment.</p>
      <WalletList choose={(wallet) => void signIn.run(wallet)} isBusy={signIn.isBusy.value} />
      {signIn.isBusy.value && <p role="status">Confirm the sign-in in your wallet.</p>}
      <ProblemNote problem={signIn.problem.value} />
      <button type="button" class="second" onClick={() => dialog.current?.close()}>
        Cancel
      </button>
    </dialog>
  );
}

function WalletList({ choose, isBusy }: { choose: (wallet: UsableWallet | null) => void; isBusy: boolean }) {
  return (
    <>
      {wallets.value.length === 0 && (
        <p class="quiet">
          This browser has no Solana wallet that the page can use. Install a wallet, such as Phantom, Solflare or Backpack, and reload the page.
        </p>
      )}
      <ul class="wallets">
        {wallets.value.map((wallet) => (
          <li key={wallet.name}>
            <button type="button" class="wallet" disabled={isBusy} onClick={() => choose(wallet)}>
              {wallet.icon && <img src={wallet.icon} alt="" width="28" height="28" />}
              {wallet.name}
            </button>
          </li>
        ))}
        {settings.development && (
          <li>
            <button type="button" class="wallet" disabled={isBusy} onClick={() => choose(null)}>
              Throw-away key
            </button>
            <p class="quiet">For development only. The key is lost when you close this tab.</p>
          </li>
        )}
      </ul>
    </>
  );
}
