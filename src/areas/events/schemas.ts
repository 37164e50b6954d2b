import { z } from 'zod';
import { MAX_OPEN_CHAT_ROUNDS } from '#areas/lottery';
import { Count, Id, Instant, Slug } from '#lib/scalars.ts';
import { CATEGORIES, type Category } from '#platform/events/event.ts';

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
    .meta({ description: 'Id of the last received message, for clients that cannot send the header Last-Event-ID. The header has precedence.' }),
});

/** Parses the list of categories in a query and ignores unknown ones. Returns all categories when there is no list. */
export const categoriesOf = (list: string | undefined): readonly Category[] => list?.split(',').filter(isCategory) ?? CATEGORIES;

const ACTIVE_EVENT = { id: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', startsAt: '2026-11-21T12:00:00.000Z', endsAt: '2026-11-21T12:10:00.000Z' };

/** A chat round that is not drawn yet, or a burn event or one-time event that is active now. */
export const ActiveEvent = z
  .strictObject({
    type: z.enum(['chat_round', 'burn_event', 'arcade_event']),
    id: Id,
    title: z.string(),
    startsAt: Instant,
    endsAt: Instant.nullable().meta({ description: 'End of the event. For a chat round, its closing time; the draw follows.' }),
    status: z.enum(['active', 'closing', 'committed']).optional().meta({
      description:
        'State of a chat_round. active: accepts entries until `endsAt`. closing, committed: closed, not drawn yet. Absent for other events.',
    }),
    payload: z
      .unknown()
      .optional()
      .meta({ description: 'Free-form payload of an arcade_event; absent for other events and for an event without a payload.' }),
  })
  .meta({ id: 'ActiveEvent', example: { type: 'arcade_event', ...ACTIVE_EVENT, title: 'meteor-shower', payload: { intensity: 3 } } });
export type ActiveEvent = z.input<typeof ActiveEvent>;

export const ArcadeState = z
  .strictObject({
    theme: z.looseObject({}).meta({ description: 'The look of the arcade; free-form.', example: { name: 'neon-night', scanlines: true } }),
    themeVersion: Count,
    activeEvents: z.array(ActiveEvent).meta({
      description: `Active events: at most ${MAX_OPEN_CHAT_ROUNDS} chat rounds (the active one, then those that are not drawn yet), the burn event, then at most 50 one-time events, newest first.`,
    }),
    arcade: z.strictObject({
      name: z.string().meta({ example: 'Coinop' }),
      games: Count.meta({ description: 'Number of games.', example: 9 }),
      categories: z.array(Slug).meta({ example: ['shooter', 'puzzle'] }),
      cabinets: Count.meta({ description: 'Number of cabinets.', example: 8 }),
      possessed: Count.meta({ description: 'Number of possessed cabinets.', example: 0 }),
    }),
  })
  .meta({ id: 'ArcadeState' });
