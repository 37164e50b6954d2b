/** Maximum combining marks after one base character. Four are enough for pointed Hebrew and vocalized Arabic. */
export const MAX_MARKS = 4;

/** Emoji that Unicode recommends, also those of several characters: a family has zero-width joiners, the flag of Scotland has tag characters. */
const EMOJI = /\p{RGI_Emoji}/gv;
/** A presentation selector after a character that can be shown as an emoji, such as © or ☎. */
const PRESENTATION = /(?<=\p{Emoji})[\uFE0E\uFE0F]/gu;
/** Scripts whose spelling needs a zero-width joiner or non-joiner between some letters. */
const JOINING = ['Arabic', 'Syriac', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala'];
const LETTER = `[${JOINING.map((script) => `\\p{Script=${script}}`).join('')}]`;
const JOINERS = new RegExp(`(?<=${LETTER})[\\u200C\\u200D](?=${LETTER})`, 'gu');
/** Bidi controls, zero-width characters, tag characters, variation selectors, fillers and other characters that show nothing. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\uFFF9-\uFFFB]/u;
const TOO_MANY_MARKS = new RegExp(`\\p{M}{${MAX_MARKS + 1}}`, 'u');
/** A character with ink. U+2800 is the Braille pattern without dots. */
const INK = /[^\p{Z}\p{C}\p{M}\u2800]/u;

/** Returns text in the Unicode form NFC, so that equal letters have equal bytes. NFC, unlike NFKC, never changes how the text looks. */
export const normalizeText = (text: string): string => text.normalize('NFC');

/**
 * Returns why a text hides a part of itself, as the end of a sentence that begins with the name of the field; null for a text that shows all that it
 * contains. Precondition: the text is in the form NFC, because a letter with composed marks has fewer of them.
 */
export function hiddenTextFault(text: string): string | null {
  // A character in place of each emoji and joiner, so that the characters around it do not become neighbours.
  const rest = text.replace(EMOJI, 'x').replace(PRESENTATION, '').replace(JOINERS, 'x');
  if (INVISIBLE.test(rest)) return 'must not contain invisible characters, such as bidi controls, zero-width characters or tag characters';
  if (TOO_MANY_MARKS.test(rest)) return `must have at most ${MAX_MARKS} combining marks on a character`;
  return INK.test(text) ? null : 'must contain a visible character';
}
