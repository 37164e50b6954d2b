import { z } from 'zod';
import { Count, Instant } from '#lib/scalars.ts';
import { ChatRoundTerms } from '../terms.ts';
import { MAX_TITLE, titleOf } from './title.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const TITLE = 'Draw {n} of {date}';

/** Minimum interval, seconds. */
const MIN_INTERVAL_SEC = 10;
/** Maximum interval, seconds. */
const MAX_INTERVAL_SEC = 30 * 86_400;

// Checks the title's length after the longest possible round number and a date are filled in.
const fits = ({ title }: ChatRoundTerms) => titleOf(title, 2 ** 31 - 1, '1970-01-01').length <= MAX_TITLE;

export const AutoStart = z
  .strictObject({
    intervalSec: z.int().min(MIN_INTERVAL_SEC).max(MAX_INTERVAL_SEC).meta({
      description: 'Seconds from the start of one round to the start of the next. The next round waits while a round is active.',
      example: 3_600,
    }),
    template: ChatRoundTerms.refine(fits, {
      path: ['title'],
      error: `must have at most ${MAX_TITLE} characters after {n} and {date} are filled in`,
    }).meta({
      description: 'The terms of every round. In the title, `{n}` is replaced by the round’s number in the schedule and `{date}` by its UTC day.',
      example: { title: TITLE, prizes: [{ amount: '5000000', mint: 'usdc' }], durationSec: 600 },
    }),
    startAt: Instant.optional().meta({
      description:
        'Start time of the first round; the others follow at the interval. With a time in the past, one round starts now and the next one at the next multiple ' +
        'of the interval. Less than a year away.',
      example: '2026-11-21T12:00:00.000Z',
    }),
  })
  .meta({ id: 'AutoStart' });
export type AutoStart = z.output<typeof AutoStart>;

export const AutoStatus = z
  .strictObject({
    running: z.boolean(),
    intervalSec: Count.nullable().meta({
      description: 'Interval in seconds; null before the first start.',
      example: 3_600,
    }),
    template: ChatRoundTerms.nullable(),
    nextAt: Instant.nullable().meta({
      description:
        'Start time of the next round; null while the schedule is stopped. A time in the past means that the round waits or could not start.',
    }),
    lastRound: z.uuid().nullable().meta({ description: 'The most recently started round.', example: ID }),
    lastStartedAt: Instant.nullable(),
    lastError: z.string().nullable().meta({
      description: 'The error of the last failed start, which is retried; null after a successful start.',
      example: 'the treasury holds too little',
    }),
    startedBy: z.string().nullable().meta({ description: 'Name of the admin token that last started the schedule.', example: 'admin-1' }),
  })
  .meta({ id: 'AutoStatus' });
export type AutoStatus = z.output<typeof AutoStatus>;
