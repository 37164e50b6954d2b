import { z } from 'zod';
import { recheckQuests } from '#areas/points';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { DeliveryVerdict, ReceivedDelivery } from '#platform/webhooks/inbox.ts';
import { confirmHandle, findLinkedAccounts } from '../accounts.ts';
import { type FollowReport, saveFollows } from '../follows.ts';
import { parseAccountActivity } from './account-activity.ts';
import { parseActivityEvent } from './activity-event.ts';
import { evaluate } from './evaluate.ts';
import type { ObservedHandle, ParsedDelivery } from './parsed-delivery.ts';
import { creditOrStore, type Engagement, lockAccounts } from './pending-engagement.ts';

const PLATFORM = 'x';
/** Maximum length of the verdict that is stored with a delivery, characters. */
const MAX_VERDICT_LENGTH = 500;

/**
 * Parses a delivery of X and returns the function that applies it. The returned function credits engagements to the wallets of linked accounts, and
 * stores engagements of other accounts as pending. Accepts the payloads of the X Activity API and the Account Activity API, which may report the same
 * engagement. The verdict lists ignored events.
 * @param body parsed JSON of the delivery
 */
export async function prepareEngagement(app: App, body: unknown, { at }: ReceivedDelivery): Promise<(tx: Tx) => Promise<DeliveryVerdict>> {
  const arcadeAccountId = app.config.x.accountId;
  if (arcadeAccountId === null) return async () => ({ outcome: 'retry', verdict: 'X_ACCOUNT_ID is not configured' });
  const receivedAt = Date.parse(at);
  const parsed = parseDelivery(body, receivedAt);
  const evaluated = evaluate(arcadeAccountId, parsed, receivedAt);
  return async (tx) => await apply(tx, evaluated, latestHandles(parsed.handles, receivedAt));
}

function parseDelivery(body: unknown, receivedAt: number): ParsedDelivery {
  const fields = z.record(z.string(), z.unknown()).parse(body);
  return 'data' in fields ? parseActivityEvent(fields.data, receivedAt) : parseAccountActivity(fields, receivedAt);
}

/** Returns the latest handle per account. Replaces a time in the future with the time at which the delivery was received. */
function latestHandles(handles: readonly ObservedHandle[], receivedAt: number): Map<string, ObservedHandle> {
  const latest = new Map<string, ObservedHandle>();
  for (const name of handles)
    if (name.at >= (latest.get(name.accountId)?.at ?? 0)) latest.set(name.accountId, { ...name, at: Math.min(name.at, receivedAt) });
  return latest;
}

async function apply(
  tx: Tx,
  { engagements, follows, ignored }: { engagements: readonly Engagement[]; follows: readonly FollowReport[]; ignored: readonly string[] },
  handles: ReadonlyMap<string, ObservedHandle>,
): Promise<DeliveryVerdict> {
  const actors = [...new Set([...engagements, ...follows].map(({ accountId }) => accountId))].sort();
  await lockAccounts(tx, PLATFORM, actors);
  // Reads the links only after taking the locks of the accounts, so that links that earlier holders of the locks committed are seen.
  const ids = [...new Set([...actors, ...handles.keys()])].sort();
  const linked = await findLinkedAccounts(tx, PLATFORM, ids);
  const { credited, pending, skipped } = await creditOrStore(tx, PLATFORM, engagements, linked);
  const unfollows = follows.filter(({ following }) => !following);
  const saved = await saveFollows(tx, PLATFORM, follows);
  // A repeated follow is no new activity, but it may complete a quest.
  const followers = follows.filter(({ accountId, following }) => following && saved.has(accountId));
  await recheckQuests(tx, [...new Set(followers.flatMap(({ accountId }) => linked.get(accountId)?.wallet ?? []))]);
  // Updates the rows in the order of their ids, so that two concurrent deliveries do not deadlock.
  for (const id of ids) {
    const [account, observed] = [linked.get(id), handles.get(id)];
    if (account && observed) await confirmHandle(tx, account, observed.handle, observed.at);
  }
  const parts = [
    ...(credited.length > 0 ? [`credited: ${countWords(credited.map(({ kind }) => kind))}`] : []),
    ...(pending.length > 0 ? [`pending until the account is linked: ${countWords(pending)}`] : []),
    ...(unfollows.length > 0 ? [`recorded: ${countWords(unfollows.map(() => 'unfollow'))}`] : []),
    ...(skipped > 0 ? [`duplicate or over the limit: ${skipped}`] : []),
    ...(ignored.length > 0 ? [`ignored: ${countWords(ignored)}`] : []),
  ];
  return { outcome: 'worked', verdict: (parts.join('; ') || 'no events').slice(0, MAX_VERDICT_LENGTH) };
}

/** Formats words with their counts, such as `follow, 2 mention`. */
function countWords(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, n]) => (n === 1 ? word : `${n} ${word}`)).join(', ');
}
