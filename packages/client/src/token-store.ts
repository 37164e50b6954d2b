/** Stores the session token of a client. A store that keeps the token longer than the page must be one that no other site can read. */
export interface TokenStore {
  /** Returns the token, or null. */
  get(): string | null;
  /** Stores a token; null removes it. */
  set(token: string | null): void;
}

/** Creates a store that loses its token with the page or process. */
export function memoryStore(): TokenStore {
  let stored: string | null = null;
  return {
    get: () => stored,
    set(token) {
      stored = token;
    },
  };
}
