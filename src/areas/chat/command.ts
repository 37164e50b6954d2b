/** The request for an entry that a message contains. */
export interface Command {
  /** The requested numbers in any order; null: the service derives the numbers. */
  readonly numbers: readonly number[] | null;
}

/** Error sentence for a malformed entry. */
export const HOW_TO_ENTER = 'text must be !enter, alone or with numbers, for example !enter 3 7 12 30 41';

/** Matches `!enter` as a whole word, so that `!entertain` is an ordinary message. */
const ENTER = /^!enter(?:[\s,](.*))?$/i;
const NUMBERS = /^\d{1,9}(?:[\s,]+\d{1,9})*$/;

/**
 * Parses `!enter` and `!enter 3 7 12 30 41`. Spaces or commas separate the numbers.
 * @param text one line, trimmed
 * @returns null for any other message; `malformed` when `!enter` is followed by text other than numbers
 */
export function readCommand(text: string): Command | null | 'malformed' {
  const found = ENTER.exec(text);
  if (!found) return null;
  const [, rest] = found;
  if (rest === undefined) return { numbers: null };
  const numbers = rest.trim();
  return NUMBERS.test(numbers) ? { numbers: numbers.split(/[\s,]+/).map(Number) } : 'malformed';
}
