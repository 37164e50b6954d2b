import type { Events } from './api.ts';
import { type Client, Refused } from './client.ts';
import { Connection } from './connection.ts';
import { delayOf, isPassing, sleep } from './patience.ts';

type Told = Exclude<keyof Events, 'reset'>;
export type Category = Events[Told]['category'];
/** The events of some categories: `type` tells which. */
export type EventOf<C extends Category = Category> = Extract<Events[Told], { category: C }>;

export interface EventsOptions<C extends Category = Category> {
  /** What to hear of; everything by default. */
  readonly categories?: readonly C[];
  /** Where to go on: the last id that `onId` was given, perhaps by an earlier process or page. From now on by default. */
  readonly lastEventId?: string;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** How long nothing at all may come before the connection counts as dead, ms (45,000): the service gives a sign of life every 15 seconds. */
  readonly silenceMs?: number;
  /** Called for each event, one after the other: the next one waits. A newer service may tell types that are not known here. */
  onEvent(event: EventOf<C>): void | Promise<void>;
  /** Events may be missing before the next one: too much was missed, or the service lost its stream. Read what you show anew. */
  onReset(reset: Events['reset']): void | Promise<void>;
  /** Everything up to this id was heard: kept, it is where a later process goes on. */
  onId?(id: string): void;
  /** Whether it is connected, and why not: null where the service merely ended the connection, as it does every ten minutes. */
  onConnection?(isOpen: boolean, reason: Error | null): void;
}

const SILENCE_MS = 45_000;
/** Until the service has said how long to wait. */
const RETRY_MS = 2_000;
const LONGEST_MS = 30_000;

/**
 * Follows events for as long as it takes: connects again whenever the connection ends, breaks or falls silent, and goes on where it was.
 * Each event is heard once, those of a category in order; where that is not possible any more, `onReset` is called.
 * @returns when the signal is aborted
 * @throws Refused when the service will not have it, for instance an unknown category; and whatever a handler throws
 */
export async function followEvents<C extends Category>(client: Client, options: EventsOptions<C>): Promise<void> {
  const { signal, categories, silenceMs = SILENCE_MS } = options;
  const path = `/events${categories ? `?categories=${categories.map(encodeURIComponent).join()}` : ''}`;
  let id = options.lastEventId ?? '';
  let retryMs = RETRY_MS;
  let failures = 0;
  while (!signal?.aborted) {
    const connection = new Connection(silenceMs, signal);
    let retryAfter: number | null = null;
    try {
      const headers = { Accept: 'text/event-stream', ...(id === '' ? {} : { 'Last-Event-ID': id }) };
      const refusal = await connection.open((signal) => client.fetch(path, { headers, signal, cache: 'no-store' }));
      if (refusal === null) options.onConnection?.(true, null);
      else if (refusal !== 'unreachable' && !refusal.ok) {
        if (refusal.status < 500 && !isPassing(refusal.status, refusal.retryAfter)) throw new Refused(refusal);
        retryAfter = refusal.retryAfter;
      }
      for (let block = await connection.next(); block && !signal?.aborted; block = await connection.next()) {
        failures = 0;
        retryMs = block.retryMs ?? retryMs;
        if (block.data !== '') await hear(options, JSON.parse(block.data));
        if (block.id !== null && block.id !== id) {
          id = block.id;
          options.onId?.(id);
        }
      }
    } finally {
      connection.close();
    }
    if (signal?.aborted) return;
    options.onConnection?.(false, connection.failure);
    const delay = connection.failure === null ? retryMs : Math.min(LONGEST_MS, delayOf(++failures, null, retryMs));
    // It throws when the signal is aborted, which is how this ends.
    await sleep(retryAfter === null ? delay : delayOf(1, retryAfter), signal).catch(() => undefined);
  }
}

function hear<C extends Category>(options: EventsOptions<C>, event: Events[keyof Events]): void | Promise<void> {
  if (event.type === 'reset') return options.onReset(event);
  // The service tells nothing but the categories that were asked for.
  return options.onEvent(event as EventOf<C>);
}
