import { coalesce } from '#lib/coalesce.ts';
import type { App } from '#platform/app.ts';

/** Reads something for a request, or shares the read with others that ask for the same key. */
type SharedRead<T> = (key: string, read: () => Promise<T>) => Promise<T>;

/** Requests for one thing that come in together, or while it is being read, share the next read of their process. */
export function sharing<T>(): (app: App, key: string, read: () => Promise<T>) => Promise<T> {
  const processes = new WeakMap<App, SharedRead<T>>();
  return (app, key, read) => {
    let shared = processes.get(app);
    if (!shared) {
      shared = coalesce<() => Promise<T>, T>(([first]) => first());
      processes.set(app, shared);
    }
    return shared(key, read);
  };
}
