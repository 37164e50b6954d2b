import { earnsRewards, loadGames } from '#areas/arcade';
import { findFollowers } from '#areas/social';
import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { type DayRange, type MetricFilter, readActiveDays, readMetrics, streakOn } from './metrics.ts';
import { isMet, maxStreakDays, measuredKinds, needsFollow, type QuestFacts, subjectsOf } from './progress.ts';
import { type Quest, questWindow } from './rows.ts';

/** Identifies a wallet's progress in a quest, in the window of the quest that contains `day` (a UTC day number). */
interface ProgressQuery {
  readonly wallet: string;
  readonly quest: Quest;
  readonly day: number;
}

/**
 * Returns the ids of games that earn no rewards. Such a game counts only in conditions that name it. Precondition: no open transaction, because this
 * function may need another database connection to load the games.
 */
export const unrewardedGames = async (app: App): Promise<ReadonlySet<string>> =>
  new Set([...(await loadGames(app)).values()].flatMap((game) => (earnsRewards(game) ? [] : [game.id])));

/** Returns the day number of the Sunday in the ISO week of a day. */
const weekEnd = (day: number) => day - ((day + 3) % 7) + 6;

/** Returns the filter for all metrics that the requirements of the quests need. */
const metricFilterOf = (quests: readonly Quest[], unrewarded: Iterable<string>): MetricFilter => ({
  kinds: quests.flatMap(({ definition }) => measuredKinds(definition.requirement)),
  subjects: quests.flatMap(({ definition: { requirement, burnEventId } }) => subjectsOf(requirement, burnEventId)),
  unrewarded: [...unrewarded],
});

/**
 * Reads the data from which the progress of wallets in quests is computed. Runs three SQL statements for any number of items in `queries`. Reads a
 * streak (consecutive active days) only if the other conditions of the quest are met. Otherwise no streak can change whether the quest is completed,
 * and `streak` is Infinity, which means: not read.
 * @param unrewarded the result of `unrewardedGames`
 * @param includeUncounted whether to read all streaks, and also activities that the quest consumer has not counted yet; only for a single wallet
 * @returns one item per query, in the order of `queries`
 */
export async function readFacts(
  db: Queryable,
  queries: readonly ProgressQuery[],
  unrewarded: ReadonlySet<string>,
  includeUncounted = false,
): Promise<QuestFacts[]> {
  const ranges = new Map<string, DayRange & { n: number }>();
  const rangeOf = queries.map(({ wallet, quest, day }) => {
    const { first, last: end } = questWindow(quest, day);
    // Ends the range with the Sunday of the week that contains `day`, because no activity is in a later week.
    const last = Math.min(end, weekEnd(day));
    const key = `${wallet} ${first} ${last}`;
    const range = ranges.get(key) ?? { wallet, first, last, n: ranges.size };
    ranges.set(key, range);
    return range;
  });
  const quests = [...new Set(queries.map(({ quest }) => quest))];
  const mayFollow = queries.flatMap(({ wallet, quest }) => (needsFollow(quest.definition.requirement) ? [wallet] : []));
  const [metrics, followers] = await Promise.all([
    readMetrics(db, [...ranges.values()], metricFilterOf(quests, unrewarded), includeUncounted),
    findFollowers(db, mayFollow),
  ]);
  const factsOf = ({ wallet, quest: { definition } }: ProgressQuery, i: number, streak: number): QuestFacts => ({
    metrics: metrics[rangeOf[i]?.n ?? -1] ?? [],
    streak,
    following: followers.has(wallet),
    manuallyConfirmed: definition.task,
    unrewarded,
    burnEventId: definition.burnEventId,
  });
  const needs = new Map(quests.map((quest) => [quest, maxStreakDays(quest.definition.requirement)]));
  const need = ({ quest }: ProgressQuery) => needs.get(quest) ?? 0;
  const unread = Number.POSITIVE_INFINITY;
  const needStreak = queries.filter(
    (query, i) => need(query) > 0 && (includeUncounted || isMet(query.quest.definition.requirement, factsOf(query, i, unread))),
  );
  const isRead = new Set(needStreak);
  const days = needStreak.map(({ day }) => day);
  const wallets = needStreak.map(({ wallet }) => wallet);
  const active = await readActiveDays(db, wallets, Math.min(...days) - Math.max(...needStreak.map(need)), Math.max(...days), includeUncounted);
  return queries.map((query, i) => factsOf(query, i, isRead.has(query) ? streakOn(active.get(query.wallet), query.day) : unread));
}
