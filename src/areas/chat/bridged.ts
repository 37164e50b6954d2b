import {
  type AcceptedEntry,
  acceptEntries,
  type EntryBalance,
  type LockedRound,
  lockActiveRound,
  readEntryBalance,
  takesEntries,
} from '#areas/lottery';
import { findLinkedAccount, type LinkedAccount } from '#areas/social';
import { numbersError } from '#lib/draw/rules.ts';
import { HttpError, unavailable } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { describeIssue, validationError } from '#platform/http/validation-errors.ts';
import type { DeliveryVerdict } from '#platform/webhooks/inbox.ts';
import { type Command, HOW_TO_ENTER, readCommand } from './command.ts';
import { enforceChatLimits } from './limits.ts';
import { isStored, storeMessages } from './messages.ts';
import { readSanctions, walletAuthor } from './sanctions.ts';
import { BridgedMessage } from './schemas.ts';

const processed = (verdict: string): DeliveryVerdict => ({ outcome: 'worked', verdict });
const failed = (verdict: string): DeliveryVerdict => ({ outcome: 'failed', verdict });

/**
 * Checks a message of a bridged chat (a chat on another platform) and returns a function that stores the message. A message that begins with `!enter`
 * also becomes an entry if the author's account was linked to a wallet before the round opened. A message with wrong numbers, or of a muted or banned
 * author, is not stored. The returned verdict states why a message is not stored or makes no entry.
 * @param body parsed JSON of the delivery; a malformed body makes the delivery fail permanently
 */
export async function prepareBridged(app: App, body: unknown): Promise<(tx: Tx) => Promise<DeliveryVerdict>> {
  const parsed = BridgedMessage.safeParse(body, { error: describeIssue });
  if (!parsed.success) return async () => failed(validationError('body', parsed.error).message);
  const message = parsed.data;
  const command = readCommand(message.text);
  if (command === 'malformed') return async () => failed(HOW_TO_ENTER);
  const tooMany = await enforceChatLimits(app, { source: message.platform, account: message.author.id }, command !== null, message.messageId).then(
    () => null,
    (error: unknown) => {
      if (error instanceof HttpError && error.status === 429) return `the chat takes no more messages: ${error.message}`;
      throw error;
    },
  );
  // The wallet is read before the transaction, because its balance is read from the chain.
  const wallet = command === null ? undefined : await findLinkedAccount(app.db, { platform: message.platform, accountId: message.author.id });
  const balance = wallet ? await readEntryBalance(app, wallet.wallet) : null;
  return async (tx) => await storeBridged(app, tx, message, command, balance, tooMany);
}

async function storeBridged(
  app: App,
  tx: Tx,
  message: BridgedMessage,
  command: Command | null,
  balance: EntryBalance | null,
  tooMany: string | null,
): Promise<DeliveryVerdict> {
  const { platform, messageId, author, text, at } = message;
  // Every transaction that needs the lock on the round acquires this lock first, so that two transactions do not deadlock.
  const [round, known, linked] = await Promise.all([
    command === null ? null : lockActiveRound(tx),
    isStored(tx, platform, messageId),
    findLinkedAccount(tx, { platform, accountId: author.id }),
  ]);
  if (known) return processed('the message is stored already');
  if (tooMany !== null) return failed(tooMany);
  const authors = [{ source: platform, account: author.id }, ...(linked ? [walletAuthor(linked.wallet)] : [])];
  const sanctionOn = await readSanctions(tx, authors);
  const error = authors.map(sanctionOn).find((one) => one !== null);
  if (error) return failed(error);
  const attempt = command === null ? null : await enter(app, tx, round, linked, balance, message, command);
  if (attempt?.wrong !== undefined) return failed(attempt.wrong);
  const entry = attempt?.entry ?? null;
  const bridged = { id: messageId, account: author.id, handle: author.handle, at };
  await storeMessages(tx, [{ id: newId(), source: platform, wallet: linked?.wallet ?? null, text, entry: entry?.id ?? null, bridged }]);
  if (entry) return processed(`stored as entry ${entry.index} of round ${entry.round}`);
  return processed(attempt ? `stored without an entry: ${attempt.why}` : 'stored');
}

/**
 * Result of an attempt to enter the round: the entry, the reason why the message is stored without an entry (`why`), or the reason why the message is
 * not stored (`wrong`).
 */
interface EntryAttempt {
  readonly entry?: AcceptedEntry;
  readonly why?: string;
  readonly wrong?: string;
}

async function enter(
  app: App,
  tx: Tx,
  round: LockedRound | null,
  linked: LinkedAccount | undefined,
  balance: EntryBalance | null,
  { platform, messageId }: BridgedMessage,
  { numbers }: Command,
): Promise<EntryAttempt> {
  if (!round || !takesEntries(round)) return { why: 'no round accepts entries now' };
  const ascending = numbers?.toSorted((a, b) => a - b);
  const fault = ascending ? numbersError(round.parameters, ascending) : null;
  if (fault !== null) return { wrong: `the numbers of an entry ${fault}` };
  if (!linked) return { why: 'no wallet is linked to the account' };
  if (linked.linkedAt >= Date.parse(round.parameters.opensAt)) return { why: 'the account was linked after the opening of the round' };
  const [acceptance] = await acceptEntries(app, tx, round, [{ id: newId(), wallet: linked.wallet, numbers, source: platform, messageId, balance }]);
  if (!acceptance) throw new Error('acceptEntries returned no result for the message');
  if ('entry' in acceptance) return acceptance;
  if (acceptance.status === 503) throw unavailable(acceptance.error, 2);
  return acceptance.status === 400 ? { wrong: acceptance.error } : { why: acceptance.error };
}
