import type { z } from 'zod';
import { fail } from '#lib/errors.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { chatModeration } from './events.ts';
import { eraseMessage } from './messages.ts';
import { muteAuthor, sanction, walletAuthor } from './sanctions.ts';
import type { Moderation, ModerationRequest } from './schemas.ts';

/**
 * Deletes a message's text, or mutes, unmutes, bans or unbans an author. Emits an event for each change. Accepted entries stay.
 * @param by admin token's name
 * @throws 404 when the message does not exist
 */
export async function moderate(tx: Tx, request: ModerationRequest, by: string): Promise<z.input<typeof Moderation>> {
  const { reason = null } = request;
  if (request.action === 'delete') {
    const { action, messageId } = request;
    const erased = await eraseMessage(tx, messageId, reason);
    if (erased === null) throw fail(404, 'messageId must be the id of a chat message');
    if (erased) tx.emit(chatModeration, { action, messageId, wallet: null, until: null });
    return { action, messageId, wallet: null, account: null, until: null };
  }
  const { action, wallet = null, account = null } = request;
  const author = wallet === null ? { source: account?.platform ?? '', account: account?.id ?? '' } : walletAuthor(wallet);
  const until = action === 'mute' ? await muteAuthor(tx, author, request.minutes, { by, reason }) : null;
  const changed = action === 'mute' || (await sanction(tx, action, author, { by, reason }));
  if (changed) tx.emit(chatModeration, { action, messageId: null, wallet, until });
  return { action, messageId: null, wallet, account, until };
}
