import type { z } from 'zod';

/** The categories that subscribers choose from. Events of one category arrive in order. */
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

/** One item of a batched event, as its own wallet receives it. */
export interface OwnItem {
  readonly wallet: string;
  /** Position in its row, from 1. */
  readonly index: number;
  /** When the row was written, ISO 8601. */
  readonly at: string;
  /** The payload that the wallet's streams get. */
  readonly payload: object;
}

/**
 * An event type whose rows carry many items, such as the scores of one transaction. Each item goes to the streams of its own
 * wallet; all items of one tick of the publisher together make one broadcast.
 */
export interface BatchedEvent<Item = unknown> {
  readonly type: EventType;
  /** Returns the items of a row's payload. @throws when the payload is malformed */
  items(payload: unknown): readonly Item[];
  /** Serializes a row's items for the Redis stream, compactly: there are hundreds in a row. */
  pack(at: string, items: readonly Item[]): string;
  /** Returns the packed items that belong to the wanted wallets, in order. */
  unpack(packed: string, wanted: (wallet: string) => boolean): readonly OwnItem[];
  /** Returns the payload of the broadcast for the items of one tick. */
  broadcast(items: readonly Item[]): Promise<object>;
}

/** The event types of the service, as the areas register them. */
export interface EventCatalog {
  /** Every event type, by its type on the wire. */
  readonly types: ReadonlyMap<string, EventType>;
  /** The one type whose rows carry many items. */
  readonly batched: BatchedEvent;
  /** Paths of the state that a client must read again after a `reset`, by name. */
  readonly resetLinks: Readonly<Record<string, string>>;
}
