import { z } from 'zod';
import type { RuleRefusal } from '#areas/lottery';
import { PageQuery } from '#lib/paging.ts';
import { Count, Instant, Points, Slug, Wallet } from '#lib/scalars.ts';
import { Condition, conditionsOf, QuestDefinition, Requirement } from './definition.ts';
import { QuestGates } from './gates.ts';
import { asFactor, bonuses, type MultiplierInputs, maxMultiplier, multiplierOf, type QuestFactors } from './multiplier.ts';
import { isMet, missing, progressOf, type QuestFacts } from './progress.ts';
import { QUEST_STATES, type Quest, type QuestVersion } from './rows.ts';
import type { QuestWindow } from './windows.ts';

const ID = 'three-times-among-the-stars';
const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
/** The window of the quests in the API examples. It has no end, so that an example can never end before it starts. */
const EXAMPLE_WINDOW = { startsAt: '2026-11-21T00:00:00.000Z' };
const { active, ...described } = QuestDefinition.shape;
const iso = (ms: number) => new Date(ms).toISOString();

/** Path parameter with a quest's id. */
export const QuestPath = z.object({ id: Slug.meta({ description: 'Id of the quest.', example: 'regular' }) });
export const QuestsQuery = PageQuery.extend({ category: Slug.optional().meta({ description: 'Returns quests of this category only.' }) });

const publicFields = { id: Slug.meta({ id: 'QuestId', example: ID }), version: Count.min(1), ...described };

/** The public view of a quest. */
export const QuestView = z
  .strictObject({ ...publicFields, gates: QuestGates, window: described.window.meta({ example: EXAMPLE_WINDOW }) })
  .meta({ id: 'Quest' });
export type QuestView = z.output<typeof QuestView>;

export function presentQuest({ id, version, definition: { active: _, ...definition } }: Quest): QuestView {
  return { id, version, ...definition, gates: definition.gates ?? {} };
}

const amountOrCount = (description: string, example: number) =>
  z.union([Count, z.string().regex(/^\d+$/)]).meta({ description: `${description} Token amounts are strings, base units.`, example });

/** A quest with the progress of one wallet. */
export const OwnQuest = z
  .strictObject({
    ...QuestView.shape,
    progress: z
      .array(
        z.strictObject({
          condition: Condition,
          have: amountOrCount('Present value of the condition.', 1),
          need: amountOrCount('Value that the condition requires.', 3),
          met: z.boolean().meta({ example: false }),
        }),
      )
      .meta({ description: 'One item per condition, in the order of the requirement.' }),
    met: z.boolean().meta({ description: 'Whether the whole requirement and all gates are met.', example: false }),
    missing: z.array(z.string()).meta({
      description: 'The unmet parts of the requirement and of the gates, one sentence each.',
      example: ['2 more accepted scores in star-raiders'],
    }),
    windowKey: z.string().meta({ description: 'Window of this completion: `once`, a UTC day, or an ISO week.', example: 'once' }),
    completed: z.boolean().meta({ description: 'Whether the wallet has completed the quest in this window.', example: false }),
    completedAt: Instant.nullable().meta({ example: null }),
    pointsAwarded: Count.nullable().meta({
      description: 'Points that the completion gave, after the multiplier; null before the completion.',
      example: null,
    }),
    resetsAt: Instant.nullable().meta({
      description: 'Time from which the quest can be completed again (UTC); null when it can be completed only once.',
      example: null,
    }),
  })
  .meta({ id: 'OwnQuest' });
export type OwnQuest = z.output<typeof OwnQuest>;

const onWire = (n: number | bigint) => (typeof n === 'bigint' ? n.toString() : n);

export function presentOwnQuest(
  quest: Quest,
  window: QuestWindow,
  facts: QuestFacts,
  gate: RuleRefusal | null,
  completion: { at: number; points: number } | undefined,
): OwnQuest {
  const { requirement } = quest.definition;
  return {
    ...presentQuest(quest),
    progress: conditionsOf(requirement).map((condition) => {
      const { have, need } = progressOf(condition, facts);
      return { condition, have: onWire(have), need: onWire(need), met: have >= need };
    }),
    met: isMet(requirement, facts) && gate === null,
    missing: [...missing(requirement, facts), ...(gate ? [gate.error] : [])],
    windowKey: window.key,
    completed: completion !== undefined,
    completedAt: completion ? iso(completion.at) : null,
    pointsAwarded: completion?.points ?? null,
    resetsAt: window.resetsAt?.toISOString() ?? null,
  };
}

const factor = z.number().meta({ description: 'Factor with at most two decimals.' });
const streakDays = Count.meta({ description: 'Consecutive UTC days with any activity. Each day after the first adds 5 %, up to 50 %.', example: 4 });
const linked = z.boolean().meta({ description: 'Whether the wallet has linked an external account, which adds 10 %.', example: true });
const holding = z.boolean().nullable().meta({
  description: 'Whether the wallet held enough of the reward token, which adds 15 %; null: unknown, adds nothing.',
  example: null,
});
const holdingAt = Instant.nullable().meta({
  description: 'Time at which the token balance was read from the chain, at most 60 s before it was used; null when `holding` is null.',
  example: null,
});

/** The multiplier of a wallet's quest points. */
export const MultiplierView = z
  .strictObject({
    multiplier: factor.meta({ example: 1.25 }),
    max: factor.meta({ description: 'Multiplier with all bonuses. Without a reward token, there is no bonus for holding.', example: 1.75 }),
    factors: z.strictObject({
      streak: z.strictObject({ bonus: factor.meta({ example: 0.15 }), days: streakDays }),
      linkedAccount: z.strictObject({ bonus: factor.meta({ example: 0.1 }), linked }),
      holding: z.strictObject({ bonus: factor.meta({ example: 0 }), holding, at: holdingAt }),
    }),
  })
  .meta({ id: 'QuestMultiplier' });

/** @param hasToken whether a reward token is configured */
export function presentMultiplier(inputs: MultiplierInputs, hasToken: boolean): z.output<typeof MultiplierView> {
  const bonus = bonuses(inputs);
  return {
    multiplier: asFactor(multiplierOf(inputs)),
    max: asFactor(maxMultiplier(hasToken)),
    factors: {
      streak: { bonus: asFactor(bonus.streak), days: inputs.streakDays },
      linkedAccount: { bonus: asFactor(bonus.linked), linked: inputs.linked },
      holding: { bonus: asFactor(bonus.holding), holding: inputs.holding, at: inputs.holdingAt ?? null },
    },
  };
}

const FactorsView = z
  .strictObject({
    rule: Count.meta({ description: 'Version of the multiplier rule.', example: 1 }),
    questVersion: Count.meta({ example: 1 }),
    basePoints: Count.meta({ description: 'Points before the multiplier.', example: 100 }),
    multiplier: factor.meta({ example: 1.25 }),
    streakDays,
    linked,
    holding,
    holdingAt: holdingAt.meta({
      description:
        'Time at which the token balance was read from the chain, at most 60 s before the points were given; null when `holding` is null, and in entries of earlier releases.',
    }),
  })
  .meta({ id: 'QuestFactors', description: 'points = floor(basePoints × multiplier).' });

export const presentFactors = ({ basisPoints, ...factors }: QuestFactors): z.output<typeof FactorsView> => ({
  ...factors,
  holdingAt: factors.holdingAt ?? null,
  multiplier: asFactor(basisPoints),
});

/** A ledger entry of a quest. */
export const QuestEntry = z
  .strictObject({
    questId: publicFields.id,
    window: z.string().meta({ example: 'once' }),
    points: Points.meta({ description: 'Negative when the entry revokes or voids a completion.', example: 125 }),
    reason: z.enum(['quest', 'revoke', 'void', 'restore']).meta({
      description:
        'revoke: an operator took the points of a completion back. void: scores were voided, so that the requirement is no longer met. restore: the requirement is met again.',
      example: 'quest',
    }),
    revoked: z.boolean().meta({ description: 'Whether an entry with the reason revoke takes these points back.', example: false }),
    note: z.string().nullable().meta({ description: 'Reason of the operator who took the points back; null for other entries.', example: null }),
    mode: z.enum(['regular', 'beta']),
    timestamp: Instant,
    factors: FactorsView.nullable().meta({ description: 'Null in an entry with the reason void or restore.' }),
  })
  .meta({ id: 'QuestEntry' });

export const CompleteTask = z.strictObject({ taskId: Slug.meta({ example: 'daily-three-scores' }) }).meta({ id: 'CompleteTask' });

/** The points of a completed daily task, and the task with its new state. */
export const TaskCompleted = z
  .strictObject({ pointsAwarded: Count.min(1).meta({ example: 125 }), factors: FactorsView, task: OwnQuest })
  .meta({ id: 'TaskCompleted' });

/** A daily task whose completion waits until the token balance of the wallet can be read. */
export const TaskPending = z.strictObject({ status: z.literal('pending'), task: OwnQuest }).meta({
  id: 'TaskPending',
  description: 'The requirement is met. The points follow, within an hour at the latest, and count for the day of the request.',
});

export const CompleteQuest = z.strictObject({ wallet: Wallet }).meta({ id: 'CompleteQuest' });

/** A completion that an operator recorded by hand. */
export const QuestCompleted = z
  .strictObject({
    questId: publicFields.id,
    wallet: z.string().meta({ example: WALLET }),
    window: z.string().meta({ example: 'once' }),
    pointsAwarded: Count.min(1).meta({ example: 125 }),
    factors: FactorsView,
    completedAt: Instant,
    by: z.string().meta({ description: 'Name of the admin token.', example: 'admin-1' }),
  })
  .meta({ id: 'QuestCompleted' });

/** A quest as operators see it. */
export const QuestAdminView = z
  .strictObject({ ...QuestView.shape, active, createdAt: Instant, updatedAt: Instant })
  .meta({ id: 'QuestForOperators' });

export const presentForOperators = (quest: Quest): z.output<typeof QuestAdminView> => ({
  ...presentQuest(quest),
  active: quest.definition.active,
  createdAt: iso(quest.createdAt),
  updatedAt: iso(quest.updatedAt),
});

/** The list of quests of operators. */
export const QuestList = z.array(
  z
    .strictObject({
      ...QuestAdminView.shape,
      state: z.enum(QUEST_STATES).meta({ description: 'scheduled: startsAt is in the future. inactive: active is false.', example: 'open' }),
      completions: Count.meta({ description: 'Completions in all windows and both modes.', example: 12 }),
      pointsAwarded: Count.meta({ description: 'Points of these completions, without revoked points.', example: 1_425 }),
    })
    .meta({ id: 'QuestListed' }),
);
export const QuestListQuery = PageQuery.extend({ state: z.enum(QUEST_STATES).optional().meta({ description: 'Lists quests in this state only.' }) });

/** A quest as operators see it, with its versions. */
export const QuestDetail = z
  .strictObject({
    ...QuestAdminView.shape,
    completions: Count.meta({ description: 'Completions in all windows, under the listed versions.', example: 12 }),
    pointsAwarded: Count.meta({ example: 1_425 }),
    versions: z
      .array(
        z.strictObject({
          version: Count.min(1),
          at: Instant,
          by: z.string().meta({ example: 'admin-1' }),
          completions: Count.meta({ example: 12 }),
          pointsAwarded: Count.meta({ example: 1_425 }),
          definition: z.strictObject({
            ...QuestDefinition.shape,
            requirement: Requirement,
            window: described.window.meta({ example: EXAMPLE_WINDOW }),
          }),
        }),
      )
      .meta({ description: 'The newest 100 versions, newest first.' }),
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
