import { useEffect } from 'preact/hooks';
import type { Api } from '../client.ts';
import { on } from './stream.ts';

type EventType = Exclude<keyof Api.Events, 'reset'>;

/**
 * Calls a function for each event of some types while the component is shown.
 * @param handle the function of the first rendering is used until a member of `key` changes
 */
export function useEvents<T extends EventType>(types: readonly T[], handle: (event: Api.Events[T]) => void, key: readonly unknown[]): void {
  useEffect(() => {
    const stops = types.map((type) => on(type, handle));
    return () => {
      for (const stop of stops) stop();
    };
  }, key);
}
