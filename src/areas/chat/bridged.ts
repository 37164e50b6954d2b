import { type AcceptedEntry, acceptEntries, type LockedRound, lockActiveRound, takesEntries } from '#areas/lottery';
import { findLinked, type LinkedAccount } from '#areas/social';
import { faultOf } from '#lib/draw/rules.ts';
import { HttpError } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { countWithin } from '#platform/auth/rate-limit.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { explain, refuse } from '#platform/http/validation-errors.ts';
import type { Verdict } from '#platform/webhooks/inbox.ts';
import { type Command, HOW_TO_ENTER, readCommand } from './command.ts';
import { isKnown, storeMessages } from './messages.ts';
import { readSanctions, walletAuthor } from './sanctions.ts';
import { BridgedMessage } from './schemas.ts';
import { limitOf, nameOf } from './submit.ts';

const worked = (verdict: string): Verdict => ({ outcome: 'worked', verdict });
const failed = (verdict: string): Verdict => ({ outcome: 'failed', verdict });

/**
 * What a message of a bridged chat becomes: a message here, and, where it asks for it, an entry of a wallet that linked the account
 * before the round opened. It is shown without an entry where there can be none, and not at all where its numbers are wrong or
 * its author may not write; the verdict says why. Bodies that do not fit have failed for good.
 * @param body what was delivered
 */
export async function prepareBridged(app: App, body: unknown): Promise<(tx: Tx) => Promise<Verdict>> {
  const parsed = BridgedMessage.safeParse(body, { error: explain });
  if (!parsed.success) return async () => failed(refuse('body', parsed.error).message);
  const message = parsed.data;
  const command = readCommand(message.text);
  if (command === 'malformed') return async () => failed(HOW_TO_ENTER);
  const tooMany = await countWithin(app, limitOf(app), nameOf({ source: message.platform, account: message.author.id })).then(
    () => null,
    (error: unknown) => {
      if (error instanceof HttpError && error.status === 429) return `the author sends too many messages: ${error.message}`;
      throw error;
    },
  );
  return async (tx) => await post(tx, message, command, tooMany);
}

async function post(tx: Tx, message: BridgedMessage, command: Command | null, tooMany: string | null): Promise<Verdict> {
  const { platform, messageId, author, text, at } = message;
  // The round's lock first, as everywhere.
  const [round, known, linked] = await Promise.all([
    command === null ? null : lockActiveRound(tx),
    isKnown(tx, platform, messageId),
    findLinked(tx, { platform, accountId: author.id }),
  ]);
  if (known) return worked('the message was known already');
  if (tooMany !== null) return failed(tooMany);
  const authors = [{ source: platform, account: author.id }, ...(linked ? [walletAuthor(linked.wallet)] : [])];
  const sanctionOn = await readSanctions(tx, authors);
  const error = authors.map(sanctionOn).find((one) => one !== null);
  if (error) return failed(error);
  const entering = command === null ? null : await enter(tx, round, linked, message, command);
  if (entering?.wrong !== undefined) return failed(entering.wrong);
  const entry = entering?.entry ?? null;
  const bridged = { id: messageId, account: author.id, handle: author.handle, at };
  await storeMessages(tx, [{ id: newId(), source: platform, wallet: linked?.wallet ?? null, text, entry: entry?.id ?? null, bridged }]);
  if (entry) return worked(`shown, and entry ${entry.index} of round ${entry.round}`);
  return worked(entering ? `shown without an entry: ${entering.why}` : 'shown');
}

/** An entry; or why the message makes none; or what is wrong with it. */
interface Entering {
  readonly entry?: AcceptedEntry;
  readonly why?: string;
  readonly wrong?: string;
}

async function enter(
  tx: Tx,
  round: LockedRound | null,
  linked: LinkedAccount | undefined,
  { platform, messageId }: BridgedMessage,
  { numbers }: Command,
): Promise<Entering> {
  if (!round || !takesEntries(round)) return { why: 'no round takes entries at the moment' };
  const ascending = numbers?.toSorted((a, b) => a - b);
  const fault = ascending ? faultOf(round.parameters, ascending) : null;
  if (fault !== null) return { wrong: `the numbers of an entry ${fault}` };
  if (!linked) return { why: 'the account is linked to no wallet' };
  if (linked.linkedAt >= Date.parse(round.parameters.opensAt)) return { why: 'the account was linked after the round had opened' };
  const [acceptance] = await acceptEntries(tx, round, [{ id: newId(), wallet: linked.wallet, numbers, source: platform, messageId }]);
  if (!acceptance) throw new Error('an entry was left without an answer');
  if ('entry' in acceptance) return acceptance;
  return acceptance.status === 400 ? { wrong: acceptance.error } : { why: acceptance.error };
}
