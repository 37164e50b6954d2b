import { appendPoints, ensurePlayer, type OpenDay, openDay, refreshLater } from '#areas/points';
import { linkedAmong } from '#areas/social';
import { fail } from '#lib/errors.ts';
import { dayNumber } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { glanceAt } from '#platform/solana/token-gate.ts';
import { type Award, type Completed, complete, type Known, readCompletions } from './completing.ts';
import { readFacts } from './facts.ts';
import { readActiveDays, streakOn } from './metrics.ts';
import { STREAK_DAYS, type Standing } from './multiplier.ts';
import { isMet, missing } from './progress.ts';
import { isOpen, type Quest, questWindow, readQuests } from './rows.ts';
import { type OwnQuest, presentOwn } from './schemas.ts';

/** Quests that can be completed now; `burnEventId`: only those of the event. */
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

/** Quests as a wallet sees them: its progress, at once after what it did, and what it has completed. */
export async function ownQuests(
  db: Queryable,
  wallet: string,
  quests: readonly Quest[],
  unrewarded: ReadonlySet<string>,
  at: Date,
): Promise<OwnQuest[]> {
  const day = dayNumber(at);
  const asks = quests.map((quest) => ({ wallet, quest, day }));
  const windows = quests.map((quest) => questWindow(quest, day));
  const [facts, completions] = await Promise.all([
    readFacts(db, asks, unrewarded, true),
    readCompletions(
      db,
      [wallet],
      windows.map(({ key }) => key),
    ),
  ]);
  return quests.flatMap((quest, i) => {
    const [known, window] = [facts[i], windows[i]];
    return known && window ? [presentOwn(quest, window, known, completions.find({ wallet, questId: quest.id, windowKey: window.key }))] : [];
  });
}

/** Whether a wallet holds enough of the reward token, as `complete` takes it. Asks the chain, and waits a moment: never in a transaction. */
export async function glanceAtHolding(app: App, wallet: string): Promise<ReadonlyMap<string, boolean>> {
  // Without a token, everyone is eligible and nobody holds any.
  const { eligible, tokenBalance } = await glanceAt(app, wallet);
  return eligible === null || tokenBalance === null ? new Map() : new Map([[wallet, eligible]]);
}

/** What a wallet's multiplier comes from, now. */
export async function standingOf(app: App, wallet: string): Promise<Standing> {
  const day = dayNumber(app.clock.now());
  const [active, linked, holdings] = await Promise.all([
    readActiveDays(app.db, [wallet], day - STREAK_DAYS, day, true),
    linkedAmong(app.db, [wallet]),
    glanceAtHolding(app, wallet),
  ]);
  return { streakDays: streakOn(active.get(wallet), day), linked: linked.has(wallet), holding: holdings.get(wallet) ?? null };
}

/**
 * Completes a daily task for today.
 * @param known of `glanceAtHolding` and `unrewardedGames`, before the transaction
 * @throws 404 no such task, or not now; 400 what is missing; 409 done today; 403 a banned wallet
 */
export async function completeTask(
  tx: Tx,
  wallet: string,
  taskId: string,
  known: { holdings: ReadonlyMap<string, boolean>; unrewarded: ReadonlySet<string> },
): Promise<{ award: Award; task: OwnQuest }> {
  const open = await openDay(tx);
  if ((await ensurePlayer(tx, wallet)).banned) throw fail(403, 'the wallet is banned');
  const quest = (await readQuests(tx)).find(({ id, definition }) => id === taskId && definition.task);
  if (!quest || !isOpen(quest, open.at.getTime())) throw fail(404, 'there is no such daily task');
  const { key: windowKey, resetsAt } = questWindow(quest, open.day);
  const done = () => fail(409, `the task is done for today, again from ${resetsAt?.toISOString()}`);
  if ((await readCompletions(tx, [wallet], [windowKey])).find({ wallet, questId: quest.id, windowKey })) throw done();
  const [facts] = await readFacts(tx, [{ wallet, quest, day: open.day }], known.unrewarded, true);
  const { requirement } = quest.definition;
  if (!facts || !isMet(requirement, facts))
    throw fail(400, `the task is not done yet, missing: ${facts ? missing(requirement, facts).join(', ') : 'all'}`);
  const award = await completeOne(tx, open, { wallet, quest, windowKey, day: open.day }, { holdings: known.holdings, fresh: true });
  if (!award) throw done();
  const [task] = await ownQuests(tx, wallet, [quest], known.unrewarded, open.at);
  if (!task) throw new Error('a task that was completed is gone');
  return { award, task };
}

/** @returns what was given; undefined where it was completed in this window before */
async function completeOne(tx: Tx, open: OpenDay, completed: Completed, known: Known): Promise<Award | undefined> {
  const { awards, entries } = await complete(tx, open, [completed], known);
  await refreshLater(tx, await appendPoints(tx, open, entries));
  return awards[0];
}

/**
 * Completes a quest for a wallet, whatever it did: an operator says so. The window is that of today.
 * @throws 404 no such quest; 409 done in this window, or a banned wallet
 */
export async function completeByHand(tx: Tx, quest: Quest, wallet: string, by: string, holdings: ReadonlyMap<string, boolean>) {
  const open = await openDay(tx);
  if ((await ensurePlayer(tx, wallet)).banned) throw fail(409, 'wallet must not be banned');
  const { key: windowKey } = questWindow(quest, open.day);
  const award = await completeOne(tx, open, { wallet, quest, windowKey, day: open.day }, { holdings, by, fresh: true });
  if (!award) throw fail(409, `the wallet has completed the quest in this window already (${windowKey})`);
  return { award, at: open.at };
}
