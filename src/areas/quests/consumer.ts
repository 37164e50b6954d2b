import {
  type ActivityEvent,
  type Consumer,
  isVoiding,
  type LedgerEntry,
  type Mode,
  type OpenDay,
  recheckQuests,
  requestQuestChecks,
} from '#areas/points';
import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { cachedHoldings } from '#platform/solana/token-gate.ts';
import { readCompletions, recordCompletions } from './completions/complete.ts';
import { reviewCompletions } from './completions/void.ts';
import { ProgressEstimates, type WalletEstimates, type WindowEstimator } from './estimates.ts';
import { readFacts, unrewardedGames } from './facts.ts';
import { hasGates } from './gates.ts';
import { countActivities } from './metrics.ts';
import { activityKeys, isMet, requirementKeys } from './progress.ts';
import { completionTime, type Quest, questWindow, readQuests } from './rows.ts';

/** The activities of one wallet on one UTC day within a batch. */
interface WalletActivities {
  readonly wallet: string;
  readonly mode: Mode;
  /** The keys of all these activities, as `activityKeys` returns them. */
  readonly keys: Set<string>;
  readonly activities: ActivityEvent[];
  readonly estimates: WalletEstimates;
}

/** Groups activities by day number, then by wallet. */
function groupByDay(
  activities: readonly ActivityEvent[],
  inBeta: ReadonlySet<string>,
  estimates: ProgressEstimates,
): Map<number, WalletActivities[]> {
  const days = new Map<number, Map<string, WalletActivities>>();
  for (const activity of activities) {
    const { wallet, day, kind, gameId } = activity;
    const wallets = days.get(day) ?? new Map<string, WalletActivities>();
    const known: WalletActivities = wallets.get(wallet) ?? {
      wallet,
      mode: inBeta.has(wallet) ? 'beta' : 'regular',
      keys: new Set(),
      activities: [],
      estimates: estimates.ofWallet(wallet),
    };
    known.activities.push(activity);
    for (const key of activityKeys(kind, gameId ?? '')) known.keys.add(key);
    wallets.set(wallet, known);
    days.set(day, wallets);
  }
  return new Map(days.entries().map(([day, wallets]) => [day, [...wallets.values()]]));
}

/** A quest that a wallet may have completed. */
interface Candidate {
  readonly wallet: string;
  readonly mode: Mode;
  readonly quest: Quest;
  readonly day: number;
  /** Whether the batch has an action of the wallet on `day`, so that a streak includes the day. */
  readonly isActive: boolean;
  readonly windowKey: string;
  /** Time at which an activity of the batch may have completed the quest, ms since 1970. */
  readonly at: number;
  readonly window: WindowEstimator;
  readonly estimates: WalletEstimates;
}

/**
 * Returns the quests that these activities may complete, one item per quest, window and wallet. Skips daily tasks, because a wallet completes a daily
 * task with a request.
 */
function findCandidates(
  quests: readonly Quest[],
  activityDays: ReadonlyMap<number, readonly WalletActivities[]>,
  progress: ProgressEstimates,
): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const quest of quests) {
    if (quest.definition.task) continue;
    // Any activity may come after the wallet met a gate, for example by buying tokens.
    const keys = [...requirementKeys(quest.definition.requirement), ...(hasGates(quest) ? ['any'] : [])];
    for (const [day, wallets] of activityDays) {
      const { key: windowKey, first } = questWindow(quest, day);
      if (day < first) continue;
      const window = progress.windowOf(quest, windowKey);
      for (const { wallet, mode, keys: walletKeys, activities, estimates } of wallets) {
        if (!keys.some((key) => walletKeys.has(key)) || !window.add(estimates, mode, activities)) continue;
        const at = activities.map((activity) => completionTime(quest, activity)).find((time) => time !== null);
        const isActive = walletKeys.has('any');
        if (at !== undefined)
          found.set(`${quest.id} ${windowKey} ${wallet}`, { wallet, mode, quest, day, isActive, windowKey, at, window, estimates });
      }
    }
  }
  return [...found.values()];
}

/** Selects the candidates whose quest is not completed yet and whose requirement is met. Reads the exact progress from the database. */
async function selectMet(tx: Tx, open: OpenDay, possible: readonly Candidate[], unrewarded: ReadonlySet<string>): Promise<Candidate[]> {
  if (possible.length === 0) return [];
  const completions = await readCompletions(
    tx,
    possible.map(({ wallet }) => wallet),
    possible.map(({ windowKey }) => windowKey),
  );
  const uncompleted = possible.filter(({ wallet, mode, quest, windowKey, window, estimates }) => {
    const completion = completions.find({ wallet, questId: quest.id, windowKey });
    // A completion with the time `open.at` was recorded by this transaction, which may be rolled back. Only an earlier completion is committed for
    // certain, so only an earlier completion is marked in the estimates.
    if (completion && completion.at < open.at.getTime()) window.markCompleted(estimates, mode);
    return completion === undefined;
  });
  if (uncompleted.length === 0) return [];
  const facts = await readFacts(tx, uncompleted, unrewarded);
  return uncompleted.filter(({ quest, day, isActive, window, estimates }, i) => {
    const known = facts[i];
    if (!known) return false;
    const isDone = isMet(quest.definition.requirement, known);
    if (isDone) window.delete(estimates);
    else window.setFacts(estimates, known, isActive ? day : null);
    return isDone;
  });
}

const selectBetaWallets = statement<{ wallet: string }>(
  'select_beta_wallets',
  `select wallet from players where wallet = any($1::text[]) and mode = 'beta'`,
);
const nextBatchNumber = statement<{ batch: number }>('next_quest_batch', `select nextval('quest_turns')::float8 as batch`);
const estimatesState = perApp(() => new ProgressEstimates());

/**
 * Counts activities, and completes the quests whose requirements are met. Computes progress from the stored counts per wallet and week, so a new or
 * changed quest needs no migration. If the token balance of a wallet is not known, the job completeQuests reads it from the chain and completes the
 * quest, because this function runs in a transaction and must not wait for the RPC node.
 * @returns ledger entries for the caller to append in this transaction
 */
async function consume(app: App, tx: Tx, open: OpenDay, activities: readonly ActivityEvent[]): Promise<readonly LedgerEntry[]> {
  // The registry of games is nearly always cached. If the registry must be loaded, loading takes a second database connection from the pool. Only one
  // consumer runs at a time, so consumers cannot take all connections of the pool.
  const unrewarded = await unrewardedGames(app);
  const wallets = [...new Set(activities.map(({ wallet }) => wallet))];
  const [quests, [next], beta] = await Promise.all([
    readQuests(tx),
    tx.query(nextBatchNumber),
    tx.query(selectBetaWallets, [wallets]),
    countActivities(tx, activities),
  ]);
  const inBeta = new Set(beta.map(({ wallet }) => wallet));
  // A restored score adds progress, but the estimates do not count it, and `findCandidates` skips it.
  const restored = [...new Set(activities.flatMap(({ kind, wallet }) => (kind === 'restore' ? [wallet] : [])))];
  await recheckQuests(tx, restored);
  // A quest whose completion became void can be completed again.
  const decided = [...new Set(activities.flatMap(({ kind, wallet }) => (isVoiding(kind) ? [wallet] : [])))];
  const reviewed = await reviewCompletions(tx, open, activities, unrewarded);
  const estimates = app.state(estimatesState);
  estimates.beginBatch(next?.batch ?? 0, unrewarded);
  estimates.forget(decided);
  estimates.forgetLate(activities);
  const completed = await selectMet(tx, open, findCandidates(quests, groupByDay(activities, inBeta, estimates), estimates), unrewarded);
  if (completed.length === 0) return reviewed;
  const holdings = await cachedHoldings(app, [...new Set(completed.map(({ wallet }) => wallet))]);
  // The job checks gates, because their balances are read from the chain.
  const isReady = ({ wallet, quest }: Candidate) => !hasGates(quest) && (app.config.chain.rewardMint === null || holdings.has(wallet));
  const waiting = completed.filter((one) => !isReady(one)).map(({ wallet, quest, day, at }) => ({ wallet, questId: quest.id, day, at }));
  await requestQuestChecks(tx, waiting);
  return [...reviewed, ...(await recordCompletions(tx, open, completed.filter(isReady), { holdings })).entries];
}

/** The consumer of activities that counts and completes quests. */
export const questConsumer: Consumer = { name: 'quests', bit: 2, consume: consume };
