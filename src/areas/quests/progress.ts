import type { ACTIVITY_KINDS } from '#areas/points';
import { type Condition, conditionsOf, type Requirement } from './definition.ts';

type ActivityKind = (typeof ACTIVITY_KINDS)[number];

/** What a wallet did of one kind in a window: with one subject (a game or a burn event that a condition names), or with all others (''). */
export interface Metric {
  readonly kind: string;
  readonly subject: string;
  readonly count: number;
  readonly best: number;
  /** Of amounts of tokens: an integer as text, which a number might not hold. */
  readonly sum: string;
}

/** All that the progress of a quest is computed from. */
export interface Facts {
  readonly metrics: readonly Metric[];
  /** Consecutive UTC days with any activity; Infinity where it does not matter, and was not read. */
  readonly streak: number;
  /** Whether somebody says that what is not measured was done. */
  readonly vouched: boolean;
  /** Games that count only where they are named. */
  readonly unrewarded: ReadonlySet<string>;
  /** The burn event that the quest belongs to. */
  readonly burnEventId: string | null;
}

/** How far a wallet is with one condition. Amounts of tokens are bigint. */
export interface Progress {
  readonly condition: Condition;
  readonly have: number | bigint;
  readonly need: number | bigint;
}

/** The activities that a condition counts; those of a streak are any that the wallet did itself. */
const KINDS: Record<Condition['type'], ActivityKind | 'any' | null> = {
  plays: 'play',
  scores: 'score',
  bestScore: 'score',
  clips: 'clip',
  follow: 'follow',
  repost: 'repost',
  mention: 'mention',
  referrals: 'bind',
  burned: 'burn',
  streak: 'any',
  manual: null,
};

/** The activities that a requirement is measured by, without those that only make a streak. */
export const measuredKinds = (requirement: Requirement): string[] =>
  conditionsOf(requirement).flatMap(({ type }) => {
    const kind = KINDS[type];
    return kind === null || kind === 'any' ? [] : [kind];
  });

/** What may move a requirement: kinds of activities, kinds with a subject, or `any`. Compare `movesOf`. */
export const moversOf = (requirement: Requirement): string[] =>
  conditionsOf(requirement).flatMap((condition) => {
    const kind = KINDS[condition.type];
    if (kind === null) return [];
    return 'gameId' in condition && condition.gameId !== undefined ? [`${kind} ${condition.gameId}`] : [kind];
  });

/** What one activity may move. Who is referred did that, not the referrer: it makes no streak. */
export const movesOf = (kind: ActivityKind, subject: string): string[] =>
  kind === 'void' ? [] : [kind, `${kind} ${subject}`, ...(kind === 'bind' ? [] : ['any'])];

/** The longest streak that a requirement asks for, days. */
export const streakNeed = (requirement: Requirement): number =>
  Math.max(0, ...conditionsOf(requirement).map((condition) => (condition.type === 'streak' ? condition.days : 0)));

/** The games and burn events that a requirement names. */
export const subjectsOf = (requirement: Requirement, burnEventId: string | null): string[] =>
  conditionsOf(requirement).flatMap((condition) => subjectOf(condition, { burnEventId }) ?? []);

function subjectOf(condition: Condition, { burnEventId }: Pick<Facts, 'burnEventId'>): string | undefined {
  if (condition.type === 'burned') return condition.eventId ?? burnEventId ?? undefined;
  return 'gameId' in condition ? condition.gameId : undefined;
}

/** How far a wallet is with one condition. */
export function progressOf(condition: Condition, facts: Facts): Progress {
  // No more days are looked at than are asked for.
  if (condition.type === 'streak') return { condition, have: Math.min(facts.streak, condition.days), need: condition.days };
  if (condition.type === 'manual') return { condition, have: facts.vouched ? 1 : 0, need: 1 };
  const kind = KINDS[condition.type];
  const subject = subjectOf(condition, facts);
  const ofGames = kind === 'play' || kind === 'score';
  const counts = (about: string) => (subject === undefined ? !(ofGames && facts.unrewarded.has(about)) : about === subject);
  const metrics = facts.metrics.filter((metric) => metric.kind === kind && counts(metric.subject));
  if (condition.type === 'burned') {
    return { condition, have: metrics.reduce((sum, metric) => sum + BigInt(metric.sum), 0n), need: BigInt(condition.amount) };
  }
  if (condition.type === 'bestScore') return { condition, have: Math.max(0, ...metrics.map(({ best }) => best)), need: condition.atLeast };
  const done = metrics.reduce((sum, metric) => sum + metric.count, 0);
  return { condition, have: done, need: condition.type === 'follow' ? 1 : condition.count };
}

const reached = ({ have, need }: Progress): boolean => have >= need;

/** Whether a requirement holds where some of its conditions do. */
export function holds(requirement: Requirement, isReached: (condition: Condition) => boolean): boolean {
  if ('all' in requirement) return requirement.all.every((one) => holds(one, isReached));
  return 'any' in requirement ? requirement.any.some((one) => holds(one, isReached)) : isReached(requirement);
}

/** Whether all that a requirement asks for was done. */
export const isMet = (requirement: Requirement, facts: Facts): boolean => holds(requirement, (condition) => reached(progressOf(condition, facts)));

/** Whether an activity is of those that a condition counts, the games that earn no rewards among them. */
export function isCounted(condition: Condition, kind: string, subject: string): boolean {
  const counted = KINDS[condition.type];
  if (counted === 'any') return kind !== 'bind' && kind !== 'void';
  return counted === kind && (!('gameId' in condition) || condition.gameId === undefined || condition.gameId === subject);
}

const several = (n: number, what: string, many = `${what}s`) => `${n} more ${n === 1 ? what : many}`;

/** What is missing to a condition, in words. */
function lack({ condition, have, need }: Progress): string {
  const left = Number(need) - Number(have);
  const inGame = 'gameId' in condition && condition.gameId !== undefined ? ` in ${condition.gameId}` : '';
  switch (condition.type) {
    case 'plays':
      return `${several(left, 'play')}${inGame}`;
    case 'scores':
      return `${several(left, 'accepted score')}${inGame}`;
    case 'bestScore':
      return `a score of at least ${condition.atLeast}${inGame} (best so far: ${have})`;
    case 'clips':
      return several(left, 'clip');
    case 'follow':
      return 'follow the arcade on the social network';
    case 'repost':
      return several(left, 'repost');
    case 'mention':
      return several(left, 'mention');
    case 'referrals':
      return several(left, 'referred wallet');
    case 'burned':
      return `${BigInt(need) - BigInt(have)} more base units to burn`;
    case 'streak':
      return `${several(left, 'consecutive day')} with activity`;
    case 'manual':
      return 'an operator’s confirmation';
  }
}

/** What is missing to a requirement, in words: nothing where it is met; of what may be chosen from, one sentence. */
export function missing(requirement: Requirement, facts: Facts): string[] {
  if (isMet(requirement, facts)) return [];
  if ('all' in requirement) return requirement.all.flatMap((one) => missing(one, facts));
  if ('any' in requirement) return [`one of: ${requirement.any.map((one) => missing(one, facts).join(' and ')).join('; ')}`];
  return [lack(progressOf(requirement, facts))];
}
