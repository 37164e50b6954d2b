import { type ReadonlySignal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { endSession } from '../session/session.ts';
import { type Problem, problemOf } from './problem.ts';

/** Something that the visitor starts, one at a time. */
export interface Action<A extends readonly unknown[]> {
  readonly isBusy: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<Problem | null>;
  /** Starts the action unless it is running. @returns whether it succeeded */
  run(...args: A): Promise<boolean>;
  clear(): void;
}

/** Wraps work that calls the service, so that a component can show that it runs and why it failed. A 401 ends the session of the page. */
export function useAction<A extends readonly unknown[]>(work: (...args: A) => Promise<unknown>, key: readonly unknown[] = []): Action<A> {
  return useMemo(() => {
    const isBusy = signal(false);
    const problem = signal<Problem | null>(null);
    return {
      isBusy,
      problem,
      async run(...args: A) {
        if (isBusy.value) return false;
        isBusy.value = true;
        problem.value = null;
        try {
          await work(...args);
          return true;
        } catch (error) {
          const failure = problemOf(error);
          problem.value = failure;
          if (failure.status === 401) endSession();
          return false;
        } finally {
          isBusy.value = false;
        }
      },
      clear() {
        problem.value = null;
      },
    };
  }, key);
}
