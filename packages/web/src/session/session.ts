import { signal } from '@preact/signals';
import type { MessageSigner, SignInWallet } from '../../../client/src/index.ts';
import { signIn } from '../../../client/src/index.ts';
import { type Api, client, ok } from '../client.ts';
import { learnTime } from '../live/clock.ts';
import { readItem, removeItem, writeItem } from '../ui/storage.ts';
import { bindInvitation } from './invitation.ts';
import { sessionKey } from './session-key.ts';

/**
 * The session cookie cannot be read by scripts, so the page notes the sign-in itself. Without the note it does not ask the service for the session,
 * because the answer would be an error for each visitor who is not signed in.
 */
const NOTE = 'coinop:signed-in';

/** The signed-in wallet with its profile; null without a session; undefined while the page asks the service. */
export const session = signal<Api.Profile | null | undefined>(undefined);
/** Why the session ended, when the visitor did not end it. */
export const sessionNote = signal<string | null>(null);

/** Reads the session of an earlier visit. */
export async function restoreSession(): Promise<void> {
  if (readItem('local', NOTE) === null) {
    session.value = null;
    return;
  }
  await refreshSession();
}

/** Follows a sign-in or sign-out in another tab of this browser. */
addEventListener('storage', ({ key, newValue }) => {
  if (key !== NOTE) return;
  if (newValue === null) forget();
  else void refreshSession().then(() => sessionKey.value++);
});

/** Reads the profile of the session again. Without an answer, the last profile stays. */
export async function refreshSession(): Promise<void> {
  try {
    const response = await client.get('/api/profile');
    learnTime(response.headers);
    if (response.ok) session.value = response.body;
    else if (response.status === 401) endSession();
    else session.value ??= null;
  } catch {
    session.value ??= null;
  }
}

/** Signs a wallet in and reads its profile. @throws ApiError, and any error of the wallet */
export async function signInWith(wallet: SignInWallet | MessageSigner): Promise<void> {
  await signIn(client, wallet);
  session.value = (await ok(client.get('/api/profile'))).body;
  writeItem('local', NOTE, '1');
  sessionNote.value = null;
  sessionKey.value++;
  await bindInvitation();
}

/** Ends the session on the service and on the page. @throws ApiError when the service did not end it */
export async function signOut(): Promise<void> {
  const response = await client.post('/auth/logout');
  if (!response.ok && response.status !== 401) await ok(response);
  forget();
}

/** Forgets a session that the service does not know. */
export function endSession(): void {
  if (session.value !== null) sessionNote.value = 'Your session has ended. Sign in again.';
  forget();
}

function forget(): void {
  removeItem('local', NOTE);
  const wasSignedIn = session.value !== null;
  session.value = null;
  if (wasSignedIn) sessionKey.value++;
}
