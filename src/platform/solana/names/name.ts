/** A parsed `.sol` or `.sns` name. */
export interface Name {
  /** The full name in lower case, such as `toly.sol`. */
  readonly text: string;
  /** Selects the registries that resolve the name. */
  readonly suffix: 'sol' | 'sns';
  /** The labels before the suffix: `[name]` or `[sub, name]`. */
  readonly labels: readonly [string] | readonly [string, string];
}

/**
 * Characters that a name must not contain: control characters, lone surrogates, unassigned code points, spaces and invisible characters. Control
 * characters are dangerous: a subdomain that begins with one can have the same address as a record of the name.
 */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
const LATIN = /\p{Script=Latin}/u;
const OTHER_LETTER = /(?!\p{Script=Latin})\p{L}/u;

/** Message of the validation error for a text that is not a valid name. */
export const NAME_RULE = 'must be a name of one or two labels without spaces, invisible characters, compatibility forms or letters of mixed scripts';

/**
 * Parses a name. The registries hash the bytes of lower-case names, so only the case is normalized. A text that looks like another
 * name (compatibility forms, mixed scripts, invisible characters) is rejected, so that no payment goes to a look-alike.
 * @returns null when the text is not a valid name
 */
export function parseName(text: string): Name | null {
  const lower = text.toLowerCase();
  const suffix = lower.endsWith('.sol') ? 'sol' : lower.endsWith('.sns') ? 'sns' : null;
  if (suffix === null || lower.normalize('NFKC') !== lower || INVISIBLE.test(lower)) return null;
  const [first = '', second, ...more] = lower.slice(0, -4).split('.');
  const labels = second === undefined ? ([first] as const) : ([first, second] as const);
  if (more.length > 0 || !labels.every(isLabel)) return null;
  return { text: lower, suffix, labels };
}

const isLabel = (label: string) => label !== '' && !(LATIN.test(label) && OTHER_LETTER.test(label));
