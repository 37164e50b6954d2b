type Kind = 'local' | 'session';

/** Calls the storage of the browser. Browsers throw when a visitor forbids it; then the page works without it. */
function use<T>(kind: Kind, work: (storage: Storage) => T): T | null {
  try {
    return work(kind === 'local' ? localStorage : sessionStorage);
  } catch {
    return null;
  }
}

/** Returns a stored text; null when there is none. */
export const readItem = (kind: Kind, name: string): string | null => use(kind, (storage) => storage.getItem(name));
export const writeItem = (kind: Kind, name: string, text: string): void => void use(kind, (storage) => storage.setItem(name, text));
export const removeItem = (kind: Kind, name: string): void => void use(kind, (storage) => storage.removeItem(name));
