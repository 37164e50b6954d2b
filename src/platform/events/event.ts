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

/** One item of the batched type `own`, as the streams of the item's wallet receive it. */
export interface OwnItem {
  readonly wallet: string;
  /** Position of the item in its outbox row, from 1. */
  readonly index: number;
  /** Time at which the outbox row was written, ISO 8601. */
  readonly at: string;
  /** The payload that the streams of the wallet receive: the members of a JSON object, without its braces. */
  readonly members: string;
}

/** The parsed payload of an outbox row of a batched type. */
export interface BatchedRow<Items = unknown> {
  /** Time at which the outbox row was written, ISO 8601. */
  readonly at: string;
  readonly items: Items;
}

/**
 * The two event types whose outbox rows carry many items (such as the scores of one transaction). Each item of the type `own` is sent to the streams
 * of its own wallet. The items of the type `shared` in one publisher tick (one group of outbox rows) are sent to all subscribers as one message.
 */
export interface BatchedEvents<Items = unknown> {
  readonly own: EventType;
  readonly shared: EventType;
  /**
   * Returns the items in the payload of an outbox row.
   * @throws when the payload is malformed
   */
  parse(type: string, payload: unknown): Items;
  /**
   * Encodes the rows of one tick.
   * @returns `own`: for each row, its items of the type `own` for the Redis stream, '' = none. The format is compact, because a row has hundreds of
   * items. `shared`: the payload of the message of the type `shared`; null = none.
   */
  encode(rows: readonly BatchedRow<Items>[]): Promise<{ own: readonly string[]; shared: object | null }>;
  /** Unpacks the items whose wallet is wanted, and returns them in their original order. */
  unpack(packed: string, wanted: (wallet: string) => boolean): readonly OwnItem[];
}

/** The event types of the service. The areas register them. */
export interface EventCatalog {
  /** Every event type, by its name on the wire. */
  readonly types: ReadonlyMap<string, EventType>;
  /** The event types whose outbox rows carry many items. */
  readonly batched: BatchedEvents;
  /** API paths that a client must read again after a `reset` event, by name. */
  readonly resetLinks: Readonly<Record<string, string>>;
}
