import { type ACTIVITY_KINDS, isAction } from '#areas/points';
import { type Condition, conditionsOf, type Requirement } from './definition.ts';

type ActivityKind = (typeof ACTIVITY_KINDS)[number];

/** Totals of one activity kind and one subject in a window. The subject is a game or burn event that a condition names, or '' for all others. */
export interface Metric {
  readonly kind: string;
  readonly subject: string;
  readonly count: number;
  readonly best: number;
  /** Sum of token amounts, base units. A string, because the sum may exceed the range of a number. */
  readonly sum: string;
}

/** Inputs from which the progress of a wallet in a quest is computed. */
export interface QuestFacts {
  readonly metrics: readonly Metric[];
  /** Number of consecutive UTC days with any activity. Infinity means: not read, because no streak can change the result. */
  readonly streak: number;
  /** Whether the wallet's linked account follows the arcade's account. */
  readonly following: boolean;
  /** Whether `manual` conditions count as met, which is the case in daily tasks. */
  readonly manuallyConfirmed: boolean;
  /** Ids of games that count only in conditions that name them. */
  readonly unrewarded: ReadonlySet<string>;
  /** Id of the quest's burn event; null when the quest has none. */
  readonly burnEventId: string | null;
}

/** The progress of a wallet in one condition. `have` and `need` are bigint for token amounts. */
interface ConditionProgress {
  readonly condition: Condition;
  readonly have: number | bigint;
  readonly need: number | bigint;
}

/** The activity kind that each condition counts. `any`: all kinds of actions by the wallet itself. null: none. */
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

/** Returns the activity kinds whose metrics a requirement needs. A streak needs no metric, and a follow is a state of the account. */
export const measuredKinds = (requirement: Requirement): string[] =>
  conditionsOf(requirement).flatMap(({ type }) => {
    const kind = KINDS[type];
    return kind === null || kind === 'any' || kind === 'follow' ? [] : [kind];
  });

/** Returns whether a requirement asks for a follow. */
export const needsFollow = (requirement: Requirement): boolean => conditionsOf(requirement).some(({ type }) => type === 'follow');

/**
 * Returns the keys of activities that may advance a requirement: `<kind>`, `<kind> <subject>` or `any`. The caller compares them with the keys that
 * `activityKeys` returns for an activity.
 */
export const requirementKeys = (requirement: Requirement): string[] =>
  conditionsOf(requirement).flatMap((condition) => {
    const kind = KINDS[condition.type];
    if (kind === null) return [];
    return 'gameId' in condition && condition.gameId !== undefined ? [`${kind} ${condition.gameId}`] : [kind];
  });

/**
 * Returns the keys of one activity. A `bind` (a wallet uses a referral code) has no key `any`, because the referred wallet performs the bind. So the
 * bind does not extend the streak of the referrer.
 */
export const activityKeys = (kind: ActivityKind, subject: string): string[] =>
  !isAction(kind) ? [] : [kind, `${kind} ${subject}`, ...(kind === 'bind' ? [] : ['any'])];

/** Returns the longest streak that a requirement asks for, days; 0 when it asks for none. */
export const maxStreakDays = (requirement: Requirement): number =>
  Math.max(0, ...conditionsOf(requirement).map((condition) => (condition.type === 'streak' ? condition.days : 0)));

/** Returns the games and burn events that a requirement names. */
export const subjectsOf = (requirement: Requirement, burnEventId: string | null): string[] =>
  conditionsOf(requirement).flatMap((condition) => subjectOf(condition, { burnEventId }) ?? []);

function subjectOf(condition: Condition, { burnEventId }: Pick<QuestFacts, 'burnEventId'>): string | undefined {
  if (condition.type === 'burned') return condition.eventId ?? burnEventId ?? undefined;
  return 'gameId' in condition ? condition.gameId : undefined;
}

/** Computes the progress of a wallet in one condition. */
export function progressOf(condition: Condition, facts: QuestFacts): ConditionProgress {
  // Limits the streak to the required days, because the caller reads only as many days as are required.
  if (condition.type === 'streak') return { condition, have: Math.min(facts.streak, condition.days), need: condition.days };
  if (condition.type === 'manual') return { condition, have: facts.manuallyConfirmed ? 1 : 0, need: 1 };
  if (condition.type === 'follow') return { condition, have: facts.following ? 1 : 0, need: 1 };
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
  return { condition, have: done, need: condition.count };
}

const isReached = ({ have, need }: ConditionProgress): boolean => have >= need;

/**
 * Returns whether a requirement is satisfied, including its nested groups.
 * @param isReached function that returns whether a single condition is reached
 */
export function isSatisfied(requirement: Requirement, isReached: (condition: Condition) => boolean): boolean {
  if ('all' in requirement) return requirement.all.every((one) => isSatisfied(one, isReached));
  return 'any' in requirement ? requirement.any.some((one) => isSatisfied(one, isReached)) : isReached(requirement);
}

/** Returns whether a wallet meets the requirement. */
export const isMet = (requirement: Requirement, facts: QuestFacts): boolean =>
  isSatisfied(requirement, (condition) => isReached(progressOf(condition, facts)));

/**
 * Returns whether a condition may count an activity. Also returns true for games without rewards, so the number of counted activities is an upper
 * bound.
 */
export function isCounted(condition: Condition, kind: string, subject: string): boolean {
  const counted = KINDS[condition.type];
  if (counted === 'any') return kind !== 'bind' && isAction(kind);
  return counted === kind && (!('gameId' in condition) || condition.gameId === undefined || condition.gameId === subject);
}

const countOf = (n: number, noun: string) => `${n} more ${noun}${n === 1 ? '' : 's'}`;

/** Returns the text that tells the player what is missing for a condition. */
function missingText({ condition, have, need }: ConditionProgress): string {
  const left = Number(need) - Number(have);
  const inGame = 'gameId' in condition && condition.gameId !== undefined ? ` in ${condition.gameId}` : ' in games that earn rewards';
  switch (condition.type) {
    case 'plays':
      return `${countOf(left, 'play')}${inGame}`;
    case 'scores':
      return `${countOf(left, 'accepted score')}${inGame}`;
    case 'bestScore':
      return `a score of at least ${condition.atLeast}${inGame} (best so far: ${have})`;
    case 'clips':
      return countOf(left, 'clip');
    case 'follow':
      return 'follow the arcade on X';
    case 'repost':
      return countOf(left, 'repost');
    case 'mention':
      return countOf(left, 'mention');
    case 'referrals':
      return countOf(left, 'referred wallet');
    case 'burned':
      return `${BigInt(need) - BigInt(have)} more base units to burn`;
    case 'streak':
      return `${countOf(left, 'consecutive day')} with activity`;
    case 'manual':
      return 'an operator’s confirmation';
  }
}

/**
 * Returns the texts that tell the player what is missing for a requirement: one text per missing condition, and one text for a whole `any` group.
 * Empty when the requirement is met.
 */
export function missing(requirement: Requirement, facts: QuestFacts): string[] {
  if (isMet(requirement, facts)) return [];
  if ('all' in requirement) return requirement.all.flatMap((one) => missing(one, facts));
  if ('any' in requirement) return [`one of: ${requirement.any.map((one) => missing(one, facts).join(' and ')).join('; ')}`];
  return [missingText(progressOf(requirement, facts))];
}
