import type { z } from 'zod';

/** The categories of events; a subscriber chooses some of them. Events of one category arrive in order. */
export const CATEGORIES = ['gameplay', 'chat', 'round', 'rewards', 'system'] as const;
export type Category = (typeof CATEGORIES)[number];

/** An event type: its name on the wire, its category, and the shape of its payload. */
export interface EventType<Payload extends z.ZodType = z.ZodType> {
  readonly type: string;
  readonly category: Category;
  readonly summary: string;
  readonly payload: Payload;
}

/** Declares an event type. */
export function event<Payload extends z.ZodType>(definition: EventType<Payload>): EventType<Payload> {
  return definition;
}

/** One item of a batched event, as the streams of the item's wallet receive it. */
export interface OwnItem {
  readonly wallet: string;
  /** Position of the item in its outbox row, from 1. */
  readonly index: number;
  /** Time at which the outbox row was written, ISO 8601. */
  readonly at: string;
  /** The payload that the streams of the wallet receive. */
  readonly payload: object;
}

/**
 * An event type whose outbox rows carry many items (such as the scores of one transaction). Each item is sent to the streams of its own wallet. In
 * addition, all items of one publisher tick (one group of outbox rows) are sent to all subscribers as one broadcast.
 */
export interface BatchedEvent<Item = unknown> {
  readonly type: EventType;
  /**
   * Returns the items in the payload of an outbox row.
   * @throws when the payload is malformed
   */
  items(payload: unknown): readonly Item[];
  /** Serializes the items of an outbox row for the Redis stream. The format is compact, because a row has hundreds of items. */
  pack(at: string, items: readonly Item[]): string;
  /** Unpacks the items whose wallet is wanted, and returns them in their original order. */
  unpack(packed: string, wanted: (wallet: string) => boolean): readonly OwnItem[];
  /** Returns the payload of the broadcast for the items of one publisher tick. */
  broadcast(items: readonly Item[]): Promise<object>;
}

/** The event types of the service. The areas register them. */
export interface EventCatalog {
  /** Every event type, by its name on the wire. */
  readonly types: ReadonlyMap<string, EventType>;
  /** The only event type whose outbox rows carry many items. */
  readonly batched: BatchedEvent;
  /** API paths that a client must read again after a `reset` event, by name. */
  readonly resetLinks: Readonly<Record<string, string>>;
}
