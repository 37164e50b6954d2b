import { type Finding, warning } from './check.ts';

/** Maximum number of characters that a mistyped name differs in, and minimum length of a name. Shorter names are often names of other programs. */
const MAX_DIFFERENCE = 2;
const MIN_LENGTH = 8;

/** Finds environment variables whose names are almost the name of a setting. No process reads them, so the setting silently has its default. */
export function findMistyped(names: readonly string[], settings: readonly string[]): Finding[] {
  const known = new Set(settings);
  return names
    .filter((name) => name.length >= MIN_LENGTH && !known.has(name))
    .flatMap((name) => {
      const meant = settings.find((setting) => !names.includes(setting) && differenceOf(name, setting) <= MAX_DIFFERENCE);
      return meant === undefined ? [] : [warning(`${name} is set, but is not a setting`, `Rename it if you mean ${meant}.`)];
    });
}

/** Returns the number of characters that must be inserted, removed or replaced to change one text into the other (Levenshtein distance). */
function differenceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, char] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + Number(char !== b[j - 1])));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
