import { Link } from '../router.tsx';
import { settings } from '../settings.ts';
import { timeOf } from '../ui/time.tsx';
import { bindInvitation, invitation, invitationNote } from './invitation.ts';
import { session } from './session.ts';
import { openSignIn } from './sign-in-dialog.tsx';

const SANCTIONS = {
  ban: 'Your wallet is banned from the arcade. It can read its own data.',
  'chat-ban': 'Your wallet may not write in the chat.',
  'chat-mute': 'Your wallet may not write in the chat at present.',
};

/** Shows the sanctions and limits of the signed-in wallet, and its invitation; nothing without any of them. */
export function Standing() {
  const own = session.value;
  return (
    <>
      {own === null && invitation.value !== null && (
        <p class="note">
          You have an invitation with the code <strong>{invitation}</strong>.{' '}
          <button type="button" class="plain" onClick={openSignIn}>
            Sign in
          </button>{' '}
          to use it.
        </p>
      )}
      {own && invitation.value !== null && (
        <p class="note">
          You have an invitation with the code <strong>{invitation}</strong>.{' '}
          <button type="button" class="plain" onClick={() => void bindInvitation()}>
            Use it
          </button>
        </p>
      )}
      {invitationNote.value !== null && (
        <p class="note" role="status">
          {invitationNote}
        </p>
      )}
      {own?.sanctions.map(({ type, reason, until }) => (
        <p key={type} class="note warn">
          {SANCTIONS[type]} {reason === null ? '' : `Reason: ${reason}. `}
          {until !== null && <>It ends at {timeOf(until)}.</>}
        </p>
      ))}
      {settings.gated && own?.eligible === false && (
        <p class="note warn">
          Your wallet does not hold enough of the arcade’s token, so it cannot start a play. You can still watch, chat, enter rounds and{' '}
          <Link href="/rewards">claim rewards</Link>.
        </p>
      )}
      {own?.beta.enabled && <p class="note">Beta mode is on: your new points are beta points. They do not count on the boards and for rewards.</p>}
    </>
  );
}

/** A sentence and a button for visitors who are not signed in. */
export function SignInHint({ children }: { children: string }) {
  return (
    <div class="empty">
      <p>{children}</p>
      <button type="button" onClick={openSignIn}>
        Sign in
      </button>
    </div>
  );
}
