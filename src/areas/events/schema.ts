import { z } from 'zod';
import { CATEGORIES, type Category } from '../../events/event.ts';

const isCategory = (text: string): text is Category => (CATEGORIES as readonly string[]).includes(text);
const MESSAGE = `must be a comma-separated list of ${CATEGORIES.join(', ')}`;

export const EventsQuery = z.object({
  categories: z
    .string(MESSAGE)
    .refine((text) => text.split(',').every(isCategory), MESSAGE)
    .optional()
    .meta({ description: `Comma-separated categories: ${CATEGORIES.join(', ')}; all of them by default.`, example: 'gameplay,system' }),
  lastEventId: z
    .string('must be the id of a message')
    .optional()
    .meta({ description: 'Where to go on, for clients that cannot send the header Last-Event-ID, which wins.' }),
});

/** The categories of a query, or all. */
export const categoriesOf = (list: string | undefined): readonly Category[] => list?.split(',').filter(isCategory) ?? CATEGORIES;
