import { z } from 'zod';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Received, Verdict } from '#platform/webhooks/inbox.ts';
import { confirmHandle, findAllLinked } from '../accounts.ts';
import { readAccountActivity } from './account-activity.ts';
import { readActivityEvent } from './activity-event.ts';
import { judge } from './evaluate.ts';
import type { Named, Told } from './parsed-delivery.ts';
import { creditOrKeep, type Deed, lockAccounts } from './pending-engagement.ts';

const PLATFORM = 'x';
const MOST_VERDICT = 500;

/**
 * Credits what accounts did on the social network: as activities of the wallets that have linked them; of other accounts it is kept for a
 * while. Takes the payloads of both of X's APIs, which may tell the same. Whatever else is delivered is done with; the verdict says what
 * it was.
 * @param body what was delivered
 */
export async function prepareEngagement(app: App, body: unknown, { at }: Received): Promise<(tx: Tx) => Promise<Verdict>> {
  const us = app.config.x.accountId;
  if (us === null) return async () => ({ outcome: 'again', verdict: 'X_ACCOUNT_ID is not configured' });
  const receivedAt = Date.parse(at);
  const told = read(body, receivedAt);
  const { deeds, ignored } = judge(us, told, receivedAt);
  return async (tx) => await apply(tx, deeds, latestNames(told.names, receivedAt), ignored);
}

function read(body: unknown, receivedAt: number): Told {
  const fields = z.record(z.string(), z.unknown()).parse(body);
  return 'data' in fields ? readActivityEvent(fields.data, receivedAt) : readAccountActivity(fields, receivedAt);
}

/** One name per account: the last. What claims to be of the future is of now. */
function latestNames(names: readonly Named[], receivedAt: number): Map<string, Named> {
  const latest = new Map<string, Named>();
  for (const name of names)
    if (name.at >= (latest.get(name.accountId)?.at ?? 0)) latest.set(name.accountId, { ...name, at: Math.min(name.at, receivedAt) });
  return latest;
}

async function apply(tx: Tx, deeds: readonly Deed[], names: ReadonlyMap<string, Named>, ignored: readonly string[]): Promise<Verdict> {
  const actors = [...new Set(deeds.map(({ accountId }) => accountId))].sort();
  await lockAccounts(tx, PLATFORM, actors);
  // After the lock, so that it is seen who linked before.
  const ids = [...new Set([...actors, ...names.keys()])].sort();
  const linked = await findAllLinked(tx, PLATFORM, ids);
  const { credited, kept, left } = await creditOrKeep(tx, PLATFORM, deeds, linked);
  // In one order, so that two deliveries do not wait for each other.
  for (const id of ids) {
    const [account, name] = [linked.get(id), names.get(id)];
    if (account && name) await confirmHandle(tx, account, name.handle, name.at);
  }
  const parts = [
    ...(credited.length > 0 ? [`credited: ${tally(credited.map(({ kind }) => kind))}`] : []),
    ...(kept.length > 0 ? [`kept until the account is linked: ${tally(kept)}`] : []),
    ...(left > 0 ? [`known or too much to keep: ${left}`] : []),
    ...(ignored.length > 0 ? [`ignored: ${tally(ignored)}`] : []),
  ];
  return { outcome: 'worked', verdict: (parts.join('; ') || 'it tells nothing').slice(0, MOST_VERDICT) };
}

/** `follow, 2 mention` */
function tally(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, n]) => (n === 1 ? word : `${n} ${word}`)).join(', ');
}
