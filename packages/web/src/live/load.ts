import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type Problem, problemOf } from '../ui/problem.ts';
import { connection, onGap } from './stream.ts';

/** Maximum time that a load waits for the event stream, ms. */
const STREAM_WITHIN_MS = 1_500;
const RETRY_MS = 5_000;

/** A value of the service: undefined while it is loaded for the first time. */
export interface Loaded<T> {
  readonly value: Signal<T | undefined>;
  /** Why the last load failed; null after a success. */
  readonly problem: ReadonlySignal<Problem | null>;
  /** Loads again; of many calls during a load only one more load follows. */
  reload(): void;
}

/**
 * Loads a value of the service and loads it again when events may be missing. It waits for the event stream first, so that no event is lost between the
 * load and the first event. A component may change the value by events.
 * @param read reads the value; it throws `ApiError` for an error response, as `ok` does
 * @param key the value is loaded anew when a member changes
 */
export function useLoaded<T>(read: () => Promise<T>, key: readonly unknown[]): Loaded<T> {
  const loaded = useMemo(() => createLoaded(read), key);
  useEffect(() => loaded.start(), [loaded]);
  return loaded;
}

export function createLoaded<T>(read: () => Promise<T>): Loaded<T> & { start(): () => void } {
  const value = signal<T | undefined>(undefined);
  const problem = signal<Problem | null>(null);
  let isRunning = false;
  let isLoading = false;
  let isWanted = false;
  let retry: ReturnType<typeof setTimeout> | undefined;

  async function load(): Promise<void> {
    if (isLoading) {
      isWanted = true;
      return;
    }
    isLoading = true;
    clearTimeout(retry);
    try {
      do {
        isWanted = false;
        const next = await read();
        if (!isRunning) return;
        value.value = next;
        problem.value = null;
      } while (isWanted);
    } catch (error) {
      if (!isRunning) return;
      const failure = problemOf(error);
      problem.value = failure;
      if (failure.isTemporary) retry = setTimeout(load, Math.max(RETRY_MS, failure.retryAfterMs ?? 0));
    } finally {
      isLoading = false;
    }
  }

  return {
    value,
    problem,
    reload: () => void load(),
    start() {
      isRunning = true;
      const stopGap = onGap(() => void load());
      let isStarted = false;
      let wasOpen = false;
      const begin = () => {
        if (isStarted || !isRunning) return;
        isStarted = true;
        void load();
      };
      const timer = setTimeout(begin, STREAM_WITHIN_MS);
      const stopStream = connection.subscribe((state) => {
        if (state !== 'open') return;
        // A stream that opens for the first time after the load began may have missed events. A later connection continues after the last event.
        if (isStarted && !wasOpen) void load();
        wasOpen = true;
        begin();
      });
      return () => {
        isRunning = false;
        clearTimeout(timer);
        clearTimeout(retry);
        stopGap();
        stopStream();
      };
    },
  };
}
