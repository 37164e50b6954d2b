import type { Consumer, Happened, LedgerEntry, OpenDay } from '#areas/points';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { knownHolders } from '#platform/solana/token-gate.ts';
import { complete, readCompletions } from './completing.ts';
import { Estimates, type WindowEstimates } from './estimates.ts';
import { readFacts, unrewardedGames } from './facts.ts';
import { countActivities } from './metrics.ts';
import { isMet, moversOf, movesOf } from './progress.ts';
import { isOpen, type Quest, questWindow, readQuests } from './rows.ts';

/** What a wallet did on one day, within a batch. */
interface Deeds {
  readonly wallet: string;
  readonly moves: Set<string>;
  readonly activities: Happened[];
}

/** By day. */
function deedsOf(activities: readonly Happened[]): Map<number, Deeds[]> {
  const days = new Map<number, Map<string, Deeds>>();
  for (const activity of activities) {
    const { wallet, day, kind, gameId } = activity;
    const wallets = days.get(day) ?? new Map<string, Deeds>();
    const known = wallets.get(wallet) ?? { wallet, moves: new Set(), activities: [] };
    known.activities.push(activity);
    for (const move of movesOf(kind, gameId ?? '')) known.moves.add(move);
    wallets.set(wallet, known);
    days.set(day, wallets);
  }
  return new Map(days.entries().map(([day, wallets]) => [day, [...wallets.values()]]));
}

/** A quest that a wallet may have completed. */
interface Candidate {
  readonly wallet: string;
  readonly quest: Quest;
  readonly day: number;
  readonly windowKey: string;
  readonly estimates: WindowEstimates;
}

/** Quests that what was done may complete, each wallet and window once; tasks are completed by the wallets themselves. */
function candidates(quests: readonly Quest[], deeds: ReadonlyMap<number, readonly Deeds[]>, all: Estimates): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const quest of quests) {
    if (quest.definition.task) continue;
    const movers = moversOf(quest.definition.requirement);
    for (const [day, wallets] of deeds) {
      const { key: windowKey, first } = questWindow(quest, day);
      if (day < first) continue;
      const estimates = all.of(quest, windowKey);
      for (const { wallet, moves, activities } of wallets) {
        if (!movers.some((mover) => moves.has(mover)) || !estimates.add(wallet, activities)) continue;
        if (activities.some(({ at }) => isOpen(quest, at))) {
          found.set(`${quest.id} ${windowKey} ${wallet}`, { wallet, quest, day, windowKey, estimates });
        }
      }
    }
  }
  return [...found.values()];
}

/** Those whose requirements are met, and that were not completed before. */
async function met(tx: Tx, open: OpenDay, possible: readonly Candidate[], unrewarded: ReadonlySet<string>): Promise<Candidate[]> {
  if (possible.length === 0) return [];
  const completions = await readCompletions(
    tx,
    possible.map(({ wallet }) => wallet),
    possible.map(({ windowKey }) => windowKey),
  );
  const undone = possible.filter(({ wallet, quest, windowKey, estimates }) => {
    const completion = completions.find({ wallet, questId: quest.id, windowKey });
    // One of this transaction bears its own time, and may be rolled back.
    if (completion && completion.at < open.at.getTime()) estimates.close(wallet);
    return completion === undefined;
  });
  if (undone.length === 0) return [];
  const facts = await readFacts(tx, undone, unrewarded);
  return undone.filter(({ wallet, quest, estimates }, i) => {
    const known = facts[i];
    if (!known) return false;
    const isDone = isMet(quest.definition.requirement, known);
    if (isDone) estimates.forget(wallet);
    else estimates.set(wallet, known);
    return isDone;
  });
}

const nextTurn = statement<{ turn: number }>('next_quest_turn', `select nextval('quest_turns')::float8 as turn`);
const processes = new WeakMap<App, Estimates>();

/**
 * Counts what wallets did, and completes the quests whose requirements are met by it: a handful of statements, however many wallets.
 * Progress is computed from what was counted; nothing is kept per quest, so a quest that is new or was changed needs nothing done.
 */
async function consume(app: App, tx: Tx, open: OpenDay, activities: readonly Happened[]): Promise<readonly LedgerEntry[]> {
  // Of the process's own memory, nearly always; only one consumer at a time may wait for a second connection here.
  const unrewarded = await unrewardedGames(app);
  const [quests, [turn]] = await Promise.all([readQuests(tx), tx.query(nextTurn), countActivities(tx, activities)]);
  const estimates = processes.get(app) ?? new Estimates();
  processes.set(app, estimates);
  estimates.begin(turn?.turn ?? 0, unrewarded);
  const completed = await met(tx, open, candidates(quests, deedsOf(activities), estimates), unrewarded);
  if (completed.length === 0) return [];
  const holdings = await knownHolders(app, [...new Set(completed.map(({ wallet }) => wallet))]);
  return (await complete(tx, open, completed, { holdings })).entries;
}

/** Takes quests further by what wallets did. */
export const questConsumer: Consumer = { name: 'quests', bit: 2, consume };
