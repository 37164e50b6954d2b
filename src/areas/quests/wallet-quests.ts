import { appendPoints, ensurePlayer, type OpenDay, openDay, requestQuestChecks, requirePlayer, scheduleRefresh } from '#areas/points';
import { findLinkedWallets } from '#areas/social';
import { fail, unavailable } from '#lib/errors.ts';
import { dayNumber } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type HoldingReading, readRecentHolding } from '#platform/solana/token-gate.ts';
import {
  type CompletionContext,
  presentHolding,
  type QuestAward,
  type QuestCompletion,
  readCompletions,
  recordCompletions,
} from './completions/complete.ts';
import { readFacts } from './facts.ts';
import { type GateBalances, gateRefusals } from './gates.ts';
import { readStreaks } from './metrics.ts';
import type { MultiplierInputs } from './multiplier.ts';
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

/**
 * Reads quests with the progress and completions of a wallet. The progress includes activities that the quest consumer has not counted yet.
 * @param known the results of `unrewardedGames` and `readGateBalances`
 */
export async function readWalletQuests(
  app: App,
  db: Queryable,
  wallet: string,
  quests: readonly Quest[],
  { unrewarded, balances }: { unrewarded: ReadonlySet<string>; balances: GateBalances },
  at: Date,
): Promise<OwnQuest[]> {
  const day = dayNumber(at);
  const queries = quests.map((quest) => ({ wallet, quest, day }));
  const windows = quests.map((quest) => questWindow(quest, day));
  const [facts, gates, completions] = await Promise.all([
    readFacts(db, queries, unrewarded, true),
    gateRefusals(app, db, queries, balances),
    readCompletions(
      db,
      [wallet],
      windows.map(({ key }) => key),
    ),
  ]);
  return quests.flatMap((quest, i) => {
    const [known, window] = [facts[i], windows[i]];
    if (!known || !window) return [];
    return [presentOwnQuest(quest, window, known, gates[i] ?? null, completions.find({ wallet, questId: quest.id, windowKey: window.key }))];
  });
}

/** Whether wallets hold enough of the reward token; empty when no reward token is configured. */
export type Holdings = ReadonlyMap<string, HoldingReading>;

/**
 * Reads whether a wallet holds enough of the reward token, as the map that `recordCompletions` needs. Precondition: no open transaction, because this
 * function may wait for the RPC node.
 * @returns null when the balance cannot be read at the moment
 */
export async function readHolding(app: App, wallet: string): Promise<Holdings | null> {
  if (app.config.chain.rewardMint === null) return new Map();
  const reading = await readRecentHolding(app, wallet);
  return reading && new Map([[wallet, reading]]);
}

/** Reads the current inputs of a wallet's multiplier. */
export async function readMultiplierInputs(app: App, wallet: string): Promise<MultiplierInputs> {
  const [[streakDays = 0], linked, holding] = await Promise.all([
    readStreaks(app.db, [{ wallet, day: dayNumber(app.clock.now()) }], true),
    findLinkedWallets(app.db, [wallet]),
    readRecentHolding(app, wallet),
  ]);
  return { streakDays, linked: linked.has(wallet), ...presentHolding(holding) };
}

/**
 * Completes a daily task for today. If the token balance of the wallet cannot be read at the moment, stores a request for the job completeQuests,
 * which completes the task for today as soon as the balance is known.
 * @param known the results of `readHolding`, `unrewardedGames` and `readGateBalances`, read before the transaction
 * @returns the task with its new state; `award` is null while the completion waits for the balance
 * @throws 404 when no open daily task has this id; 400 when the requirement or a gate is not met; 503 when a gate cannot be checked; 409 when the
 * wallet completed the task today; 403 for a banned wallet
 */
export async function completeTask(
  app: App,
  tx: Tx,
  wallet: string,
  taskId: string,
  known: { holdings: Holdings | null; unrewarded: ReadonlySet<string>; balances: GateBalances },
): Promise<{ award: QuestAward | null; task: OwnQuest }> {
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
  const [gate] = await gateRefusals(app, tx, [{ wallet, quest }], known.balances);
  if (gate) throw gate.status === 503 ? unavailable(gate.error, 5) : fail(400, `a gate of the task is not met; missing: ${gate.error}`);
  const { holdings } = known;
  if (!holdings) await requestQuestChecks(tx, [{ wallet, questId: quest.id, day: open.day, at: open.at.getTime() }]);
  const award = holdings && (await completeOne(tx, open, { wallet, quest, windowKey, day: open.day }, { holdings, includeUncounted: true }));
  if (award === undefined) throw done();
  const [task] = await readWalletQuests(app, tx, wallet, [quest], known, open.at);
  if (!task) throw new Error('the task could not be read after its completion');
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
 * @throws 404 when the wallet never signed in; 409 when the wallet has completed the quest in this window already, or is banned
 */
export async function completeManually(tx: Tx, quest: Quest, wallet: string, by: string, holdings: Holdings) {
  const open = await openDay(tx);
  if ((await requirePlayer(tx, wallet)).banned) throw fail(409, 'wallet must not be banned');
  const { key: windowKey } = questWindow(quest, open.day);
  const award = await completeOne(tx, open, { wallet, quest, windowKey, day: open.day }, { holdings, by, includeUncounted: true });
  if (!award) throw fail(409, `the wallet has already completed the quest in the window ${windowKey}`);
  return { award, at: open.at };
}
