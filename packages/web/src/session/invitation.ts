import { signal } from '@preact/signals';
import { client } from '../client.ts';
import { readItem, removeItem, writeItem } from '../ui/storage.ts';

const ITEM = 'coinop:invitation';

/** The code of the referral link with which the visitor came; null without one. */
export const invitation = signal<string | null>(readItem('session', ITEM));
/** A sentence for the visitor: whether the invitation was accepted. Null before the answer of the service. */
export const invitationNote = signal<string | null>(null);

/** Keeps the code of a referral link until the visitor signs in. */
export function keepInvitation(search: URLSearchParams): void {
  const code = search.get('ref');
  if (code === null || code === '' || code.length > 64) return;
  invitation.value = code;
  writeItem('session', ITEM, code);
}

/** Binds the signed-in wallet to the wallet that invited it. A refusal is told and never tried again, because the code will not become valid. */
export async function bindInvitation(): Promise<void> {
  const code = invitation.value;
  if (code === null) return;
  try {
    const response = await client.post('/api/referral/bind', { body: { code }, idempotencyKey: crypto.randomUUID() });
    if (!response.ok && response.status >= 500) return;
    invitationNote.value = response.ok ? 'Your invitation is accepted.' : `Your invitation was not accepted: ${response.error}.`;
    invitation.value = null;
    removeItem('session', ITEM);
  } catch {
    // The service cannot be reached: the next sign-in tries again.
  }
}
