import { z } from 'zod';
import { Instant, line, Slug } from '#lib/scalars.ts';
import { QuestGates } from './gates.ts';
import { REPEATS } from './windows.ts';

/** Maximum conditions per requirement, and maximum depth of nested groups. */
const MAX_CONDITIONS = 20;
const MAX_DEPTH = 3;

const Times = z.int().min(1).max(1_000_000);
const count = Times.meta({ description: 'Required number of activities.', example: 3 });
const gameId = Slug.optional().meta({
  description:
    'Counts this game only. Without gameId, every game that earns rewards counts. A game whose scores are not verified counts only when gameId names it.',
  example: 'star-raiders',
});

/** One condition of a requirement. */
export const Condition = z
  .discriminatedUnion('type', [
    z
      .strictObject({ type: z.literal('plays'), count, gameId })
      .meta({ description: 'Counts started plays. Plays of games that earn no rewards count only when gameId names the game.' }),
    z
      .strictObject({ type: z.literal('scores'), count, gameId })
      .meta({ description: 'Counts accepted scores. Scores of games that earn no rewards count only when gameId names the game.' }),
    z
      .strictObject({ type: z.literal('bestScore'), atLeast: z.int().min(1).max(10_000), gameId })
      .meta({ description: 'Requires a normalized score of at least `atLeast`, 1 to 10,000.' }),
    z.strictObject({ type: z.literal('clips'), count }).meta({ description: 'Counts uploaded clips.' }),
    z.strictObject({ type: z.literal('follow') }).meta({
      description:
        'Requires that the wallet’s linked X account follows the arcade’s account. A follow counts on every day until the account unfollows or is unlinked. The follow of an account counts for one wallet only.',
    }),
    z.strictObject({ type: z.literal('repost'), count }).meta({ description: 'Counts reposts of the arcade’s posts.' }),
    z.strictObject({ type: z.literal('mention'), count }).meta({ description: 'Counts mentions of the arcade’s account.' }),
    z.strictObject({ type: z.literal('referrals'), count }).meta({ description: 'Counts the wallets that the caller referred.' }),
    z
      .strictObject({
        type: z.literal('burned'),
        amount: z
          .string()
          .regex(/^[1-9]\d{0,19}$/, 'must be a whole number of base units, at least 1, as a string')
          .meta({ example: '1000000' }),
        eventId: Slug.optional().meta({ description: 'Counts burns of this event only. Default: the quest’s burnEventId, if it has one.' }),
      })
      .meta({ description: 'Adds up burned tokens, base units.' }),
    z
      .strictObject({ type: z.literal('streak'), days: z.int().min(1).max(366) })
      .meta({ description: 'Counts consecutive UTC days with any activity, up to today or yesterday.' }),
    z.strictObject({ type: z.literal('manual') }).meta({
      description:
        'A condition that the service does not measure. An operator completes the quest; a wallet completes a daily task by its own request.',
    }),
  ])
  .meta({ id: 'QuestCondition', example: { type: 'scores', count: 3, gameId: 'star-raiders' } });
export type Condition = z.output<typeof Condition>;

/** A condition, or a group of conditions and groups. `all`: every member must be met. `any`: one member must be met. */
export type Requirement = Condition | { all: Requirement[] } | { any: Requirement[] };

/** Returns the schema of one nesting level: a condition, or a group whose members match `Inner`. */
function groupsOf(Inner: z.ZodType<Requirement>, level: number): z.ZodType<Requirement> {
  const members = z.array(Inner).min(1).max(MAX_CONDITIONS);
  return z.union([Condition, z.strictObject({ all: members }), z.strictObject({ any: members })]).meta({ id: `QuestRequirement${level}` });
}

/** Returns all conditions of a requirement, in the order in which the requirement lists them. */
export function conditionsOf(requirement: Requirement): Condition[] {
  if ('all' in requirement) return requirement.all.flatMap(conditionsOf);
  return 'any' in requirement ? requirement.any.flatMap(conditionsOf) : [requirement];
}

let nested: z.ZodType<Requirement> = Condition;
for (let level = MAX_DEPTH; level >= 1; level--) nested = groupsOf(nested, level);
export const Requirement = nested
  .refine((requirement) => conditionsOf(requirement).length <= MAX_CONDITIONS, `must have at most ${MAX_CONDITIONS} conditions`)
  .meta({
    id: 'QuestRequirement',
    description: `A condition, or \`{ all: […] }\` or \`{ any: […] }\`, nested up to ${MAX_DEPTH} deep, of at most ${MAX_CONDITIONS} conditions.`,
    example: { all: [{ type: 'scores', count: 3, gameId: 'star-raiders' }, { any: [{ type: 'follow' }, { type: 'clips', count: 1 }] }] },
  });

const fields = {
  title: line(120).meta({ example: 'Three times among the stars' }),
  description: line(1_000).meta({ example: 'Score three times in Star Raiders.' }),
  category: Slug.meta({ example: 'arcade' }),
  requirement: Requirement,
  /** Absent in definitions that an earlier release stored. */
  gates: QuestGates.optional(),
  points: z.int().min(1).max(1_000_000).meta({ description: 'Points before the multiplier.', example: 100 }),
  window: z.strictObject({ startsAt: Instant.optional(), endsAt: Instant.optional() }).meta({
    description:
      'Period in which the quest can be completed. Progress counts whole UTC days: from the day of startsAt (default: the day of creation) to the day of endsAt.',
    example: { startsAt: '2026-11-21T00:00:00.000Z' },
  }),
  repeat: z.enum(REPEATS).meta({ description: 'How often a wallet can complete the quest: once ever, once per UTC day, or once per ISO week.' }),
  active: z.boolean(),
  task: z.boolean().meta({ description: 'Marks a daily task: the wallet completes it with a request when the requirement is met.', example: false }),
  burnEventId: Slug.nullable().meta({
    description: 'The burn event of the quest, or null. The quest ends with this event; burns that happened before the end still count.',
    example: null,
  }),
};
type QuestFields = z.output<z.ZodObject<typeof fields>>;

const isDailyIfTask = ({ task, repeat }: Pick<QuestFields, 'task' | 'repeat'>) => !task || repeat === 'daily';
const TASK_MUST_BE_DAILY = { path: ['repeat'], message: 'must be daily when task is true' };
const endsAfterStart = ({ window }: Pick<QuestFields, 'window'>) =>
  !window.startsAt || !window.endsAt || Date.parse(window.startsAt) < Date.parse(window.endsAt);
const MUST_END_AFTER_START = { path: ['window', 'endsAt'], message: 'must be after startsAt' };

/** The definition of a quest. Every version of a quest stores its definition. */
export const QuestDefinition = z.strictObject(fields).refine(isDailyIfTask, TASK_MUST_BE_DAILY).refine(endsAfterStart, MUST_END_AFTER_START);
export type QuestDefinition = z.output<typeof QuestDefinition>;

/** The request body that creates a quest. */
export const NewQuest = z
  .strictObject({
    ...fields,
    id: Slug.optional().meta({ description: 'Generated when absent.', example: 'three-times-among-the-stars' }),
    description: fields.description.optional(),
    category: fields.category.default('general'),
    gates: QuestGates.default({}),
    window: fields.window.default({}),
    repeat: fields.repeat.default('once'),
    active: fields.active.default(true),
    task: fields.task.default(false),
    burnEventId: fields.burnEventId.default(null),
  })
  .refine(isDailyIfTask, TASK_MUST_BE_DAILY)
  .refine(endsAfterStart, MUST_END_AFTER_START)
  .transform(({ id, description, ...rest }) => ({ id, definition: { ...rest, description: description ?? rest.title } }))
  .meta({ id: 'NewQuest' });

/** The request body that changes a quest. Absent fields stay unchanged; `window` is replaced as a whole. */
export const QuestPatch = z
  .strictObject(fields)
  .partial()
  .meta({ id: 'QuestPatch', example: { points: 150 } });
export type QuestPatch = z.output<typeof QuestPatch>;
