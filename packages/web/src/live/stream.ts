import { effect, signal } from '@preact/signals';
import { type Api, followEvents } from '../../../client/src/index.ts';
import { ApiError, client } from '../client.ts';
import { sessionKey } from '../session/session-key.ts';

type Events = Api.Events;
type EventType = Exclude<keyof Events, 'reset'>;
type Handler<T extends EventType> = (event: Events[T]) => void;

const handlers = new Map<EventType, Set<(event: never) => void>>();
const reloaders = new Set<() => void>();

/** State of the event stream. lost: the stream was open, and the page tries to open it again. */
export const connection = signal<'opening' | 'open' | 'lost'>('opening');

/** Calls a function for each event of a type. @returns a function that ends this */
export function on<T extends EventType>(type: T, handler: Handler<T>): () => void {
  const all = handlers.get(type) ?? new Set();
  handlers.set(type, all);
  all.add(handler);
  return () => all.delete(handler);
}

/** Calls a function when events may be missing, so that it reads its state again. @returns a function that ends this */
export function onGap(reload: () => void): () => void {
  reloaders.add(reload);
  return () => reloaders.delete(reload);
}

function dispatch(event: Events[EventType]): void {
  for (const handler of handlers.get(event.type) ?? []) {
    try {
      // The cast is safe because `on` stores a handler under the type of its events.
      handler(event as never);
    } catch (error) {
      reportError(error);
    }
  }
}

const reloadAll = (): void => {
  for (const reload of reloaders) reload();
};

/** Opens the event stream and keeps it open. It opens the stream anew after a sign-in or sign-out, because the events of a wallet follow its session. */
export function startStream(): void {
  let stop: AbortController | null = null;
  let lastId = '';
  /** Whether the stream begins anew, so that events before its next connection are missing. */
  let isGap = false;
  effect(() => {
    sessionKey.value;
    stop?.abort();
    const own = new AbortController();
    stop = own;
    void follow(own.signal);
  });

  async function follow(signal: AbortSignal): Promise<void> {
    let lost = false;
    try {
      await followEvents(client, {
        ...(lastId === '' ? {} : { lastEventId: lastId }),
        signal,
        onEvent: dispatch,
        onReset: reloadAll,
        onId: (id) => {
          if (!signal.aborted) lastId = id;
        },
        onConnection: (isOpen) => {
          if (signal.aborted) return;
          connection.value = isOpen ? 'open' : lost || connection.value === 'open' ? 'lost' : 'opening';
          // A service that rotates connections closes them; the next one is open within a second, and no event is missing.
          lost = !isOpen;
          if (isOpen && isGap) {
            isGap = false;
            reloadAll();
          }
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      connection.value = 'lost';
      if (!(error instanceof ApiError)) reportError(error);
      // The service refused the position in the stream or the session: begin anew, and read every state again.
      lastId = '';
      isGap = true;
      setTimeout(() => {
        if (!signal.aborted) void follow(signal);
      }, 5_000);
    }
  }
}
