import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Count, Instant, Slug, Wallet } from '#lib/scalars.ts';
import { Condition, conditionsOf, QuestDefinition, Requirement } from './definition.ts';
import { asFactor, bonuses, type Factors, MOST, multiplierOf, type Standing } from './multiplier.ts';
import { type Facts, isMet, missing, progressOf } from './progress.ts';
import type { Quest, QuestVersion } from './rows.ts';
import type { QuestWindow } from './windows.ts';

const ID = 'three-times-among-the-stars';
const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
/** A window with an end still has no end date in examples: it would have to be after its start. */
const SHOWN = { startsAt: '2026-11-21T00:00:00.000Z' };
const { active, ...described } = QuestDefinition.shape;
const iso = (ms: number) => new Date(ms).toISOString();

/** Any id in a path: one that is no quest's is 404, whatever it looks like. */
export const QuestPath = z.object({ id: z.string().meta({ description: 'The quest’s id.', example: ID }) });
export const QuestsQuery = PageQuery.extend({ category: Slug.optional().meta({ description: 'Only quests of this category.' }) });

const shown = { id: Slug.meta({ id: 'QuestId', example: ID }), version: Count.min(1), ...described };

/** A quest as everyone may know it. */
export const QuestView = z.strictObject({ ...shown, window: described.window.meta({ example: SHOWN }) }).meta({ id: 'Quest' });
export type QuestView = z.output<typeof QuestView>;

export function presentQuest({ id, version, definition: { active: _, ...definition } }: Quest): QuestView {
  return { id, version, ...definition };
}

const amountOrCount = (description: string, example: number) =>
  z.union([Count, z.string().regex(/^\d+$/)]).meta({ description: `${description} Amounts of tokens are text.`, example });

/** A quest with what one wallet has done for it. */
export const OwnQuest = z
  .strictObject({
    ...QuestView.shape,
    progress: z
      .array(
        z.strictObject({
          condition: Condition,
          have: amountOrCount('So far.', 1),
          need: amountOrCount('In all.', 3),
          met: z.boolean().meta({ example: false }),
        }),
      )
      .meta({ description: 'Per condition, as they are written in the requirement.' }),
    met: z.boolean().meta({ description: 'Whether the whole requirement is met.', example: false }),
    missing: z.array(z.string()).meta({ description: 'What is missing, in words.', example: ['2 more accepted scores in star-raiders'] }),
    windowKey: z.string().meta({ description: 'What this completion is for: `once`, a UTC day, or an ISO week.', example: 'once' }),
    completed: z.boolean().meta({ description: 'Whether it was completed in this window.', example: false }),
    completedAt: Instant.nullable().meta({ example: null }),
    pointsAwarded: Count.nullable().meta({ description: 'With the multiplier of then.', example: null }),
    resetsAt: Instant.nullable().meta({ description: 'When it can be completed anew (UTC); null where once is all.', example: null }),
  })
  .meta({ id: 'OwnQuest' });
export type OwnQuest = z.output<typeof OwnQuest>;

const onWire = (n: number | bigint) => (typeof n === 'bigint' ? n.toString() : n);

export function presentOwn(quest: Quest, window: QuestWindow, facts: Facts, completion: { at: number; points: number } | undefined): OwnQuest {
  const { requirement } = quest.definition;
  return {
    ...presentQuest(quest),
    progress: conditionsOf(requirement).map((condition) => {
      const { have, need } = progressOf(condition, facts);
      return { condition, have: onWire(have), need: onWire(need), met: have >= need };
    }),
    met: isMet(requirement, facts),
    missing: missing(requirement, facts),
    windowKey: window.key,
    completed: completion !== undefined,
    completedAt: completion ? iso(completion.at) : null,
    pointsAwarded: completion?.points ?? null,
    resetsAt: window.resetsAt?.toISOString() ?? null,
  };
}

const factor = z.number().meta({ description: 'With two decimals.' });
const streakDays = Count.meta({ description: 'Consecutive UTC days with any activity; all but the first add 5 %, up to 50 %.', example: 4 });
const linked = z.boolean().meta({ description: 'Whether an account elsewhere is linked: 10 %.', example: true });
const holding = z.boolean().nullable().meta({
  description: 'Whether the wallet holds enough of the reward token: 15 %; null where that is not known, which adds nothing.',
  example: null,
});

/** A wallet's multiplier of quest points. */
export const MultiplierView = z
  .strictObject({
    multiplier: factor.meta({ example: 1.25 }),
    max: factor.meta({ example: 2 }),
    factors: z.strictObject({
      streak: z.strictObject({ bonus: factor.meta({ example: 0.15 }), days: streakDays }),
      linkedAccount: z.strictObject({ bonus: factor.meta({ example: 0.1 }), linked }),
      holding: z.strictObject({ bonus: factor.meta({ example: 0 }), holding }),
    }),
  })
  .meta({ id: 'QuestMultiplier' });

export function presentMultiplier(standing: Standing): z.output<typeof MultiplierView> {
  const bonus = bonuses(standing);
  return {
    multiplier: asFactor(multiplierOf(standing)),
    max: asFactor(MOST),
    factors: {
      streak: { bonus: asFactor(bonus.streak), days: standing.streakDays },
      linkedAccount: { bonus: asFactor(bonus.linked), linked: standing.linked },
      holding: { bonus: asFactor(bonus.holding), holding: standing.holding },
    },
  };
}

const FactorsView = z
  .strictObject({
    rule: Count.meta({ description: 'The version of the multiplier’s rule.', example: 1 }),
    questVersion: Count.meta({ example: 1 }),
    basePoints: Count.meta({ description: 'Before the multiplier.', example: 100 }),
    multiplier: factor.meta({ example: 1.25 }),
    streakDays,
    linked,
    holding,
  })
  .meta({ id: 'QuestFactors', description: 'points = floor(basePoints × multiplier).' });

export const presentFactors = ({ basisPoints, ...factors }: Factors): z.output<typeof FactorsView> => ({
  ...factors,
  multiplier: asFactor(basisPoints),
});

/** An entry of the ledger that a quest gave. */
export const QuestEntry = z
  .strictObject({
    questId: shown.id,
    window: z.string().meta({ example: 'once' }),
    points: Count.meta({ example: 125 }),
    mode: z.enum(['regular', 'beta']),
    timestamp: Instant,
    factors: FactorsView,
  })
  .meta({ id: 'QuestEntry' });

export const CompleteTask = z.strictObject({ taskId: z.string().max(64).meta({ example: 'daily-three-scores' }) }).meta({ id: 'CompleteTask' });

/** What a daily task gave, and how it stands now. */
export const TaskCompleted = z
  .strictObject({ pointsAwarded: Count.min(1).meta({ example: 125 }), factors: FactorsView, task: OwnQuest })
  .meta({ id: 'TaskCompleted' });

export const CompleteQuest = z.strictObject({ wallet: Wallet }).meta({ id: 'CompleteQuest' });

/** An override. */
export const QuestCompleted = z
  .strictObject({
    questId: shown.id,
    wallet: z.string().meta({ example: WALLET }),
    window: z.string().meta({ example: 'once' }),
    pointsAwarded: Count.min(1).meta({ example: 125 }),
    factors: FactorsView,
    completedAt: Instant,
    by: z.string().meta({ description: 'The admin token.', example: 'admin-1' }),
  })
  .meta({ id: 'QuestCompleted' });

/** A quest as its operators see it. */
export const QuestAdminView = z
  .strictObject({ ...QuestView.shape, active, createdAt: Instant, updatedAt: Instant })
  .meta({ id: 'QuestForOperators' });

export const presentForOperators = (quest: Quest): z.output<typeof QuestAdminView> => ({
  ...presentQuest(quest),
  active: quest.definition.active,
  createdAt: iso(quest.createdAt),
  updatedAt: iso(quest.updatedAt),
});

/** The same with its history. */
export const QuestDetail = z
  .strictObject({
    ...QuestAdminView.shape,
    completions: Count.meta({ description: 'In all windows, under the versions that are listed.', example: 12 }),
    pointsAwarded: Count.meta({ example: 1_425 }),
    versions: z
      .array(
        z.strictObject({
          version: Count.min(1),
          at: Instant,
          by: z.string().meta({ example: 'admin-1' }),
          completions: Count.meta({ example: 12 }),
          pointsAwarded: Count.meta({ example: 1_425 }),
          definition: z.strictObject({ ...QuestDefinition.shape, requirement: Requirement, window: described.window.meta({ example: SHOWN }) }),
        }),
      )
      .meta({ description: 'The newest hundred, newest first.' }),
  })
  .meta({ id: 'QuestDetail' });

export const presentDetail = (quest: Quest, versions: readonly QuestVersion[]): z.output<typeof QuestDetail> => ({
  ...presentForOperators(quest),
  completions: versions.reduce((sum, version) => sum + version.completions, 0),
  pointsAwarded: versions.reduce((sum, version) => sum + version.points, 0),
  versions: versions.map(({ version, at, by, completions, points, definition }) => ({
    version,
    at: iso(at),
    by,
    completions,
    pointsAwarded: points,
    definition,
  })),
});
