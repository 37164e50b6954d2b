import { appendPoints, ensurePlayer, type OpenDay, openDay, scheduleRefresh } from '#areas/points';
import { findLinkedWallets } from '#areas/social';
import { fail } from '#lib/errors.ts';
import { dayNumber } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { peekHolding } from '#platform/solana/token-gate.ts';
import { type CompletionContext, type QuestAward, type QuestCompletion, readCompletions, recordCompletions } from './completions.ts';
import { readFacts } from './facts.ts';
import { readActiveDays, streakOn } from './metrics.ts';
import { type MultiplierInputs, STREAK_DAYS } from './multiplier.ts';
import { isMet, missing } from './progress.ts';
import { isOpen, type Quest, questWindow, readQuests } from './rows.ts';
import { type OwnQuest, presentOwnQuest } from './schemas.ts';

/**
 * Reads the quests that can be completed at present.
 * @param only conditions for the selection. `task`: quests whose `task` has this value; `burnEventId`: quests of this burn event
 */
export async function openQuests(app: App, only: { task?: boolean; burnEventId?: string } = {}): Promise<Quest[]> {
  const now = app.clock.now().getTime();
  const { task, burnEventId } = only;
  return (await readQuests(app.db)).filter(
    (quest) =>
      isOpen(quest, now) &&
      (task === undefined || quest.definition.task === task) &&
      (burnEventId === undefined || quest.definition.burnEventId === burnEventId),
  );
}

/** Reads quests with the progress and completions of a wallet. The progress includes activities that the quest consumer has not counted yet. */
export async function readWalletQuests(
  db: Queryable,
  wallet: string,
  quests: readonly Quest[],
  unrewarded: ReadonlySet<string>,
  at: Date,
): Promise<OwnQuest[]> {
  const day = dayNumber(at);
  const queries = quests.map((quest) => ({ wallet, quest, day }));
  const windows = quests.map((quest) => questWindow(quest, day));
  const [facts, completions] = await Promise.all([
    readFacts(db, queries, unrewarded, true),
    readCompletions(
      db,
      [wallet],
      windows.map(({ key }) => key),
    ),
  ]);
  return quests.flatMap((quest, i) => {
    const [known, window] = [facts[i], windows[i]];
    return known && window ? [presentOwnQuest(quest, window, known, completions.find({ wallet, questId: quest.id, windowKey: window.key }))] : [];
  });
}

/**
 * Returns whether a wallet holds enough of the reward token, as the map that `recordCompletions` needs. The map is empty when the token balance is
 * unknown. Precondition: no open transaction, because this function may wait for the RPC node.
 */
export async function readHolding(app: App, wallet: string): Promise<ReadonlyMap<string, boolean>> {
  // If no token is configured, `eligible` is true and `tokenBalance` is null; the holding is then unknown.
  const { eligible, tokenBalance } = await peekHolding(app, wallet);
  return eligible === null || tokenBalance === null ? new Map() : new Map([[wallet, eligible]]);
}

/** Reads the current inputs of a wallet's multiplier. */
export async function readMultiplierInputs(app: App, wallet: string): Promise<MultiplierInputs> {
  const day = dayNumber(app.clock.now());
  const [active, linked, holdings] = await Promise.all([
    readActiveDays(app.db, [wallet], day - STREAK_DAYS, day, true),
    findLinkedWallets(app.db, [wallet]),
    readHolding(app, wallet),
  ]);
  return { streakDays: streakOn(active.get(wallet), day), linked: linked.has(wallet), holding: holdings.get(wallet) ?? null };
}

/**
 * Completes a daily task for today.
 * @param known the results of `readHolding` and `unrewardedGames`, read before the transaction
 * @throws 404 when no open daily task has this id; 400 when the requirement is not met; 409 when the wallet completed the task today; 403 for a
 * banned wallet
 */
export async function completeTask(
  tx: Tx,
  wallet: string,
  taskId: string,
  known: { holdings: ReadonlyMap<string, boolean>; unrewarded: ReadonlySet<string> },
): Promise<{ award: QuestAward; task: OwnQuest }> {
  const open = await openDay(tx);
  if ((await ensurePlayer(tx, wallet)).banned) throw fail(403, 'the wallet is banned');
  const quest = (await readQuests(tx)).find(({ id, definition }) => id === taskId && definition.task);
  if (!quest || !isOpen(quest, open.at.getTime())) throw fail(404, 'there is no such daily task');
  const { key: windowKey, resetsAt } = questWindow(quest, open.day);
  const done = () => fail(409, `the task is completed for today; it can be completed again from ${resetsAt?.toISOString()}`);
  if ((await readCompletions(tx, [wallet], [windowKey])).find({ wallet, questId: quest.id, windowKey })) throw done();
  const [facts] = await readFacts(tx, [{ wallet, quest, day: open.day }], known.unrewarded, true);
  const { requirement } = quest.definition;
  if (!facts || !isMet(requirement, facts))
    throw fail(400, `the requirement of the task is not met; missing: ${facts ? missing(requirement, facts).join(', ') : 'all'}`);
  const award = await completeOne(tx, open, { wallet, quest, windowKey, day: open.day }, { holdings: known.holdings, includeUncounted: true });
  if (!award) throw done();
  const [task] = await readWalletQuests(tx, wallet, [quest], known.unrewarded, open.at);
  if (!task) throw new Error('the completed task could not be read');
  return { award, task };
}

/** Records one completion and its points. @returns undefined when the wallet has completed the quest in this window already */
async function completeOne(tx: Tx, open: OpenDay, completed: QuestCompletion, context: CompletionContext): Promise<QuestAward | undefined> {
  const { awards, entries } = await recordCompletions(tx, open, [completed], context);
  await scheduleRefresh(tx, await appendPoints(tx, open, entries));
  return awards[0];
}

/**
 * Completes a quest for a wallet without checking the requirement, on behalf of an operator. The completion counts for the quest's window that
 * contains today.
 * @param by the name of the admin token
 * @throws 409 when the wallet has completed the quest in this window already, or is banned
 */
export async function completeManually(tx: Tx, quest: Quest, wallet: string, by: string, holdings: ReadonlyMap<string, boolean>) {
  const open = await openDay(tx);
  if ((await ensurePlayer(tx, wallet)).banned) throw fail(409, 'wallet must not be banned');
  const { key: windowKey } = questWindow(quest, open.day);
  const award = await completeOne(tx, open, { wallet, quest, windowKey, day: open.day }, { holdings, by, includeUncounted: true });
  if (!award) throw fail(409, `the wallet has already completed the quest in the window ${windowKey}`);
  return { award, at: open.at };
}
