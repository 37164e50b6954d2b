import type { z } from 'zod';

/** What subscribers may choose from; events of one category arrive in order. */
export const CATEGORIES = ['gameplay', 'chat', 'round', 'rewards', 'system'] as const;
export type Category = (typeof CATEGORIES)[number];

/** An event as a value: its type on the wire, its category, and the shape of its payload. */
export interface EventType<Payload extends z.ZodType = z.ZodType> {
  readonly type: string;
  readonly category: Category;
  readonly summary: string;
  readonly payload: Payload;
}

/** Declares an event. */
export function event<Payload extends z.ZodType>(definition: EventType<Payload>): EventType<Payload> {
  return definition;
}
