import type { Events } from './api.ts';
import { ApiError, type Client } from './client.ts';
import { Connection } from './connection.ts';
import { isTransient, retryDelayMs, sleep } from './retry-policy.ts';

type EventType = Exclude<keyof Events, 'reset'>;
export type Category = Events[EventType]['category'];
/** An event of one of the categories; the field `type` distinguishes the events. */
export type EventOf<C extends Category = Category> = Extract<Events[EventType], { category: C }>;

export interface EventsOptions<C extends Category = Category> {
  /** Categories to receive; default: all. */
  readonly categories?: readonly C[];
  /**
   * Id of the last handled event, as passed to `onId` (possibly in an earlier process or page). Only later events are received. Default: only new
   * events are received.
   */
  readonly lastEventId?: string;
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
  /** Time without data after which the connection counts as broken, ms (default 45,000). The service sends a heartbeat every 15 seconds. */
  readonly silenceMs?: number;
  /**
   * Called for each event, one at a time: the handler of the next event is called after this handler has ended. A newer service may send event types
   * that this client does not know.
   */
  onEvent(event: EventOf<C>): void | Promise<void>;
  /**
   * Called when events may be missing, because the client was disconnected for too long or the service lost its stored events. The handler must load
   * the displayed data again.
   */
  onReset(reset: Events['reset']): void | Promise<void>;
  /**
   * Called with the id of the last handled event, when all events up to this id were handled. Store the id, so that a later process can continue
   * after this event.
   */
  onId?(id: string): void;
  /**
   * Called when the connection opens or ends. When the connection ends, `reason` is the error, or null when the service closed the connection. The
   * service closes each connection after ten minutes.
   */
  onConnection?(isOpen: boolean, reason: Error | null): void;
}

const SILENCE_MS = 45_000;
/** Delay before a reconnect, ms, until the service has sent a delay (`retry`). */
const DEFAULT_RETRY_MS = 2_000;
const MAX_DELAY_MS = 30_000;

/**
 * Receives events until the signal aborts. When the connection ends, breaks or is silent, this function reconnects and continues after the last
 * handled event. Delivers each event once, and the events of each category in their order.
 * @returns a promise that resolves when the signal aborts
 * @throws ApiError when the service rejects the request, for example because of an unknown category; and any error of a handler
 */
export async function followEvents<C extends Category>(client: Client, options: EventsOptions<C>): Promise<void> {
  const { signal, categories, silenceMs = SILENCE_MS } = options;
  const path = `/events${categories ? `?categories=${categories.map(encodeURIComponent).join()}` : ''}`;
  let id = options.lastEventId ?? '';
  let retryMs = DEFAULT_RETRY_MS;
  let failures = 0;
  while (!signal?.aborted) {
    const connection = new Connection(silenceMs, signal);
    let retryAfter: number | null = null;
    try {
      const headers = { Accept: 'text/event-stream', ...(id === '' ? {} : { 'Last-Event-ID': id }) };
      const failure = await connection.open((signal) => client.fetch(path, { headers, signal, cache: 'no-store' }));
      if (failure === null) options.onConnection?.(true, null);
      else if (failure !== 'unreachable' && !failure.ok) {
        if (failure.status < 500 && !isTransient(failure.status, failure.retryAfter)) throw new ApiError(failure);
        retryAfter = failure.retryAfter;
      }
      for (let block = await connection.next(); block && !signal?.aborted; block = await connection.next()) {
        failures = 0;
        retryMs = block.retryMs ?? retryMs;
        if (block.data !== '') await dispatch(options, JSON.parse(block.data));
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
    const delay = connection.failure === null ? retryMs : Math.min(MAX_DELAY_MS, retryDelayMs(++failures, null, retryMs));
    // `sleep` rejects when the signal aborts; the loop ends after that.
    await sleep(retryAfter === null ? delay : retryDelayMs(1, retryAfter), signal).catch(() => undefined);
  }
}

function dispatch<C extends Category>(options: EventsOptions<C>, event: Events[keyof Events]): void | Promise<void> {
  if (event.type === 'reset') return options.onReset(event);
  // The cast is safe because the service sends only events of the requested categories.
  return options.onEvent(event as EventOf<C>);
}
