/** A name as the registries know it. */
export interface Name {
  /** Lower-case, as it is asked for: `toly.sol`. */
  readonly text: string;
  /** `sol` or `sns`: which registry answers for it. */
  readonly suffix: 'sol' | 'sns';
  /** The labels before the suffix: `[name]` or `[sub, name]`. */
  readonly labels: readonly [string] | readonly [string, string];
}

/**
 * Controls (a record's address is derived like a subdomain's, with a control character before its name), halves of characters, what
 * Unicode has not assigned, spaces, and what is invisible.
 */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
const LATIN = /\p{Script=Latin}/u;
const OTHER_LETTER = /(?!\p{Script=Latin})\p{L}/u;

/** Why a text is no name that money may go by. */
export const NAME_RULE = 'must be a name of one or two labels without spaces, invisible characters, compatibility forms or letters of mixed scripts';

/**
 * Reads a name. Registries hash the bytes, and names are registered in lower case, so case is folded and nothing else: texts that look
 * like another name, or like nothing, are refused rather than mapped to it.
 * @returns null for what is no name
 */
export function parseName(text: string): Name | null {
  const lower = text.toLowerCase();
  const suffix = lower.endsWith('.sol') ? 'sol' : lower.endsWith('.sns') ? 'sns' : null;
  if (suffix === null || lower.normalize('NFKC') !== lower || UNSEEN.test(lower)) return null;
  const [first, second, ...more] = lower.slice(0, -4).split('.');
  const labels = second === undefined ? ([first ?? ''] as const) : ([first ?? '', second] as const);
  if (more.length > 0 || !labels.every(isLabel)) return null;
  return { text: lower, suffix, labels };
}

const isLabel = (label: string) => label !== '' && !(LATIN.test(label) && OTHER_LETTER.test(label));
