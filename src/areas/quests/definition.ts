import { z } from 'zod';
import { Instant, line, Slug } from '#lib/scalars.ts';
import { REPEATS } from './windows.ts';

/** Bounds of a requirement. */
const MAX_CONDITIONS = 20;
const MAX_DEPTH = 3;

const Times = z.int().min(1).max(1_000_000);
const count = Times.meta({ description: 'How many.', example: 3 });
const gameId = Slug.optional().meta({
  description: 'Only this game. Without it, every game that earns rewards counts: what nobody verifies counts only where it is named.',
  example: 'star-raiders',
});

/** One thing to be done. */
export const Condition = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('plays'), count, gameId }).meta({ description: 'Plays begun.' }),
    z.strictObject({ type: z.literal('scores'), count, gameId }).meta({ description: 'Accepted scores.' }),
    z
      .strictObject({ type: z.literal('bestScore'), atLeast: z.int().min(1).max(10_000), gameId })
      .meta({ description: 'A normalized score, 1 to 10,000.' }),
    z.strictObject({ type: z.literal('clips'), count }).meta({ description: 'Clips uploaded.' }),
    z.strictObject({ type: z.literal('follow') }).meta({ description: 'Follows the arcade on the social network.' }),
    z.strictObject({ type: z.literal('repost'), count }).meta({ description: 'Reposts.' }),
    z.strictObject({ type: z.literal('mention'), count }).meta({ description: 'Mentions.' }),
    z.strictObject({ type: z.literal('referrals'), count }).meta({ description: 'Wallets that were referred.' }),
    z
      .strictObject({
        type: z.literal('burned'),
        amount: z
          .string()
          .regex(/^[1-9]\d{0,19}$/, 'must be a whole number of base units, 1 or more, as text')
          .meta({ example: '1000000' }),
        eventId: Slug.optional().meta({ description: 'Only burns of this event; of the quest’s own event where it has one.' }),
      })
      .meta({ description: 'Tokens burned, base units.' }),
    z
      .strictObject({ type: z.literal('streak'), days: z.int().min(1).max(366) })
      .meta({ description: 'Consecutive UTC days with any activity, up to today or yesterday.' }),
    z
      .strictObject({ type: z.literal('manual') })
      .meta({ description: 'Nothing that is measured: a quest is completed by an operator, a daily task by whoever says so.' }),
  ])
  .meta({ id: 'QuestCondition', example: { type: 'scores', count: 3, gameId: 'star-raiders' } });
export type Condition = z.output<typeof Condition>;

/** All or any of conditions, nested. */
export type Requirement = Condition | { all: Requirement[] } | { any: Requirement[] };

/** A condition, or all or any of what `Inner` takes. */
function groupsOf(Inner: z.ZodType<Requirement>, level: number): z.ZodType<Requirement> {
  const members = z.array(Inner).min(1).max(MAX_CONDITIONS);
  return z.union([Condition, z.strictObject({ all: members }), z.strictObject({ any: members })]).meta({ id: `QuestRequirement${level}` });
}

/** Every condition of a requirement, in the order in which they are written. */
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
  points: z.int().min(1).max(1_000_000).meta({ description: 'What it gives, before the multiplier.', example: 100 }),
  window: z.strictObject({ startsAt: Instant.optional(), endsAt: Instant.optional() }).meta({
    description: 'When it can be completed. Progress counts whole UTC days, from that of startsAt (or of its creation) to that of endsAt.',
    example: { startsAt: '2026-11-21T00:00:00.000Z' },
  }),
  repeat: z.enum(REPEATS).meta({ description: 'Once at all, once a UTC day, or once an ISO week.' }),
  active: z.boolean(),
  task: z.boolean().meta({ description: 'A daily task: the wallet completes it itself, once its requirement is met.', example: false }),
  burnEventId: Slug.nullable().meta({ description: 'The burn event that it belongs to.', example: null }),
};
type Fields = z.output<z.ZodObject<typeof fields>>;

const taskIsDaily = ({ task, repeat }: Pick<Fields, 'task' | 'repeat'>) => !task || repeat === 'daily';
const TASK_IS_DAILY = { path: ['repeat'], message: 'must be daily where task is true' };
const endsLater = ({ window }: Pick<Fields, 'window'>) =>
  !window.startsAt || !window.endsAt || Date.parse(window.startsAt) < Date.parse(window.endsAt);
const ENDS_LATER = { path: ['window', 'endsAt'], message: 'must be after startsAt' };

/** A quest as it is kept, version by version. */
export const QuestDefinition = z.strictObject(fields).refine(taskIsDaily, TASK_IS_DAILY).refine(endsLater, ENDS_LATER);
export type QuestDefinition = z.output<typeof QuestDefinition>;

/** A quest to be. */
export const NewQuest = z
  .strictObject({
    ...fields,
    id: Slug.optional().meta({ description: 'Drawn where it is absent.', example: 'three-times-among-the-stars' }),
    description: fields.description.optional(),
    category: fields.category.default('general'),
    window: fields.window.default({}),
    repeat: fields.repeat.default('once'),
    active: fields.active.default(true),
    task: fields.task.default(false),
    burnEventId: fields.burnEventId.default(null),
  })
  .refine(taskIsDaily, TASK_IS_DAILY)
  .refine(endsLater, ENDS_LATER)
  .transform(({ id, description, ...rest }) => ({ id, definition: { ...rest, description: description ?? rest.title } }))
  .meta({ id: 'NewQuest' });

/** What is to be different; the rest stays. The window is replaced as a whole. */
export const QuestPatch = z
  .strictObject(fields)
  .partial()
  .meta({ id: 'QuestPatch', example: { points: 150 } });
export type QuestPatch = z.output<typeof QuestPatch>;
