import { z } from 'zod';
import { Count, Instant } from '#lib/scalars.ts';
import { ChatRoundTerms } from '../schemas.ts';
import { LONGEST_TITLE, titleOf } from './title.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const TITLE = 'Draw {n} of {date}';

/** Bounds of the interval, seconds. */
const LEAST_SEC = 10;
const MOST_SEC = 30 * 86_400;

// What the placeholders become takes room: by the longest number that a schedule comes to.
const fits = ({ title }: ChatRoundTerms) => titleOf(title, 2 ** 31 - 1, '1970-01-01').length <= LONGEST_TITLE;

export const AutoStart = z
  .strictObject({
    intervalSec: z
      .int()
      .min(LEAST_SEC)
      .max(MOST_SEC)
      .meta({ description: 'From one round’s beginning to the next one’s. A round that is still active then is waited for.', example: 3_600 }),
    template: ChatRoundTerms.refine(fits, {
      path: ['title'],
      error: `must be at most ${LONGEST_TITLE} characters with {n} and {date} filled in`,
    }).meta({
      description: 'Each round’s terms. In the title `{n}` becomes the round’s number in the schedule, `{date}` its UTC day.',
      example: { title: TITLE, prizes: [{ amount: '5000000', mint: 'usdc' }], durationSec: 600 },
    }),
    startAt: Instant.optional().meta({
      description:
        'When the first round is due; the others follow at the interval. In the past: one round now, the next on that grid. Within a year.',
      example: '2026-11-21T12:00:00.000Z',
    }),
  })
  .meta({ id: 'AutoStart' });
export type AutoStart = z.output<typeof AutoStart>;

export const AutoStatus = z
  .strictObject({
    running: z.boolean(),
    intervalSec: Count.nullable().meta({ description: 'null before the first start, as everything else.', example: 3_600 }),
    template: ChatRoundTerms.nullable(),
    nextAt: Instant.nullable().meta({ description: 'When the next round is due; null while stopped. In the past where it waits, or was refused.' }),
    lastRound: z.uuid().nullable().meta({ description: 'The round that was started last.', example: ID }),
    lastStartedAt: Instant.nullable(),
    lastError: z
      .string()
      .nullable()
      .meta({ description: 'Why the due round has not begun; it is tried again. null once one has.', example: 'the treasury holds too little' }),
    startedBy: z.string().nullable().meta({ description: 'The admin token that started it last.', example: 'admin-1' }),
  })
  .meta({ id: 'AutoStatus' });
export type AutoStatus = z.output<typeof AutoStatus>;
