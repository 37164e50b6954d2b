import { earnsRewards, loadGames } from '#areas/arcade';
import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { readActiveDays, readMetrics, type Span, streakOn, type Wanted } from './metrics.ts';
import { type Facts, isMet, measuredKinds, streakNeed, subjectsOf } from './progress.ts';
import { type Quest, questWindow } from './rows.ts';

/** A wallet's progress in a quest, in the window of a UTC day. */
export interface Ask {
  readonly wallet: string;
  readonly quest: Quest;
  readonly day: number;
}

/** Games that count only where they are named. May take a connection of its own: before a transaction, not in it. */
export const unrewardedGames = async (app: App): Promise<ReadonlySet<string>> =>
  new Set([...(await loadGames(app)).values()].flatMap((game) => (earnsRewards(game) ? [] : [game.id])));

const weekEnd = (day: number) => day - ((day + 3) % 7) + 6;

/** What quests ask for, all of them together. */
const wantedBy = (quests: readonly Quest[], unrewarded: Iterable<string>): Wanted => ({
  kinds: quests.flatMap(({ definition }) => measuredKinds(definition.requirement)),
  subjects: quests.flatMap(({ definition: { requirement, burnEventId } }) => subjectsOf(requirement, burnEventId)),
  unrewarded: [...unrewarded],
});

/**
 * Reads what the progress of wallets in quests is computed from, however many there are in two statements. Streaks are read last, and only
 * where they decide: where everything else is done. Elsewhere they are taken for endless.
 * @param unrewarded of `unrewardedGames`
 * @param fresh for a single wallet: also what is not counted yet, and all streaks
 */
export async function readFacts(db: Queryable, asks: readonly Ask[], unrewarded: ReadonlySet<string>, fresh = false): Promise<Facts[]> {
  const spans = new Map<string, Span & { n: number }>();
  const spanOf = asks.map(({ wallet, quest, day }) => {
    const { first, last: end } = questWindow(quest, day);
    // Nothing is later than this week.
    const last = Math.min(end, weekEnd(day));
    const key = `${wallet} ${first} ${last}`;
    const span = spans.get(key) ?? { wallet, first, last, n: spans.size };
    spans.set(key, span);
    return span;
  });
  const quests = [...new Set(asks.map(({ quest }) => quest))];
  const metrics = await readMetrics(db, [...spans.values()], wantedBy(quests, unrewarded), fresh);
  const factsOf = ({ quest: { definition } }: Ask, i: number, streak: number): Facts => ({
    metrics: metrics[spanOf[i]?.n ?? -1] ?? [],
    streak,
    vouched: definition.task,
    unrewarded,
    burnEventId: definition.burnEventId,
  });
  const needs = new Map(quests.map((quest) => [quest, streakNeed(quest.definition.requirement)]));
  const need = ({ quest }: Ask) => needs.get(quest) ?? 0;
  const unread = Number.POSITIVE_INFINITY;
  const open = asks.filter((ask, i) => need(ask) > 0 && (fresh || isMet(ask.quest.definition.requirement, factsOf(ask, i, unread))));
  const isRead = new Set(open);
  const days = open.map(({ day }) => day);
  const wallets = open.map(({ wallet }) => wallet);
  const active = await readActiveDays(db, wallets, Math.min(...days) - Math.max(...open.map(need)), Math.max(...days), fresh);
  return asks.map((ask, i) => factsOf(ask, i, isRead.has(ask) ? streakOn(active.get(ask.wallet), ask.day) : unread));
}
