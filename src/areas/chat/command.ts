/** What a message asks for besides being read: an entry, its numbers in any order, or null where they are to be derived. */
export interface Command {
  readonly numbers: readonly number[] | null;
}

/** How an entry is written, for whoever wrote it another way. */
export const HOW_TO_ENTER = 'text must be !enter, alone or with numbers, such as !enter 3 7 12 30 41';

/** As a word of its own: `!entertain` is something to read. */
const ENTER = /^!enter(?:[\s,](.*))?$/i;
const NUMBERS = /^\d{1,9}(?:[\s,]+\d{1,9})*$/;

/**
 * Reads `!enter` and `!enter 3 7 12 30 41`, the numbers parted by blanks or commas.
 * @param text one line, trimmed
 * @returns null for any other message; `malformed` where something other than numbers follows
 */
export function readCommand(text: string): Command | null | 'malformed' {
  const found = ENTER.exec(text);
  if (!found) return null;
  const [, rest] = found;
  if (rest === undefined) return { numbers: null };
  const numbers = rest.trim();
  return NUMBERS.test(numbers) ? { numbers: numbers.split(/[\s,]+/).map(Number) } : 'malformed';
}
