import { ApiError } from '../client.ts';

/** An error for people. */
export interface Problem {
  readonly text: string;
  /** Whether the same request may succeed later. */
  readonly isTemporary: boolean;
  /** Delay that the service asked for, ms; null without one. */
  readonly retryAfterMs: number | null;
  /** HTTP status; null when the service cannot be reached. */
  readonly status: number | null;
}

const sentence = (text: string): string => {
  const begin = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(begin) ? begin : `${begin}.`;
};

/** Returns an error for people: the sentence of the service, or that the service cannot be reached. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) {
    const { status, retryAfter, message } = error;
    const isTemporary = status === 429 || status >= 500 || (status === 409 && retryAfter !== null);
    return { text: sentence(message), isTemporary, retryAfterMs: retryAfter === null ? null : retryAfter * 1_000, status };
  }
  if (error instanceof TypeError) {
    return { text: 'The arcade cannot be reached. Check your connection.', isTemporary: true, retryAfterMs: null, status: null };
  }
  const text = error instanceof Error ? error.message : String(error);
  return { text: sentence(text), isTemporary: false, retryAfterMs: null, status: null };
}
