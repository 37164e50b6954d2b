import { useAction } from '../ui/action.ts';
import { announce } from '../ui/announce.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { shortWallet } from '../ui/wallet.tsx';
import { session, sessionNote, signOut } from './session.ts';
import { openSignIn } from './sign-in-dialog.tsx';

/** The part of the header that shows who is signed in. */
export function SessionMenu() {
  const leave = useAction(signOut);
  const copy = useAction(async (wallet: string) => {
    // Browsers have a clipboard only for pages that were loaded over TLS or from this machine.
    if (!navigator.clipboard) throw new Error(`this browser does not let the page copy; the address is ${wallet}`);
    await navigator.clipboard.writeText(wallet);
    announce('The address of your wallet is copied.');
  });
  const own = session.value;
  return (
    <div class="session">
      {own === null && (
        <button type="button" class="small" onClick={openSignIn}>
          Sign in
        </button>
      )}
      {own && (
        <>
          <button type="button" class="own plain" title={own.wallet} onClick={() => void copy.run(own.wallet)}>
            <span class="unseen">Signed in as </span>
            {shortWallet(own.wallet)}
            <span class="unseen">. Copy the address</span>
          </button>
          <button type="button" class="second small" disabled={leave.isBusy.value} onClick={() => void leave.run()}>
            Sign out
          </button>
        </>
      )}
      <ProblemNote problem={leave.problem.value ?? copy.problem.value} />
      {own === null && sessionNote.value && (
        <p role="status" class="quiet">
          {sessionNote}
        </p>
      )}
    </div>
  );
}
