/** Maximum weight of a post on X. */
const MAX_WEIGHT = 280;
/** Weight of any link, because X replaces each link with a short one. */
const LINK_WEIGHT = 23;

/**
 * Ranges of characters that have weight 1: Latin, neighbouring scripts, punctuation. Any other character has weight 2. An emoji of several
 * characters has weight 2 in total.
 */
const LIGHT = [
  ['\u0000', '\u10ff'],
  ['\u2000', '\u200d'],
  ['\u2010', '\u201f'],
  ['\u2032', '\u2037'],
] as const;
const WITH_SCHEME = /https?:\/\/\S+/giu;
/** Matches names with a dot. X may count such a name as a link or as text, so the greater of the two weights is used. */
const BARE_LINK = /[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+\S*/giu;

const weightOfCharacter = (character: string): number => (LIGHT.some(([first, last]) => character >= first && character <= last) ? 1 : 2);
const count = (text: string): number => [...text].reduce((sum, character) => sum + weightOfCharacter(character), 0);

/**
 * Returns the weight of a text as the network X counts it. X counts some domain names as links and others as text; this function uses the greater of
 * the two weights.
 */
export function weightOf(text: string): number {
  let weight = 0;
  const rest = text
    .normalize('NFC')
    .replace(WITH_SCHEME, () => {
      weight += LINK_WEIGHT;
      return '';
    })
    .replace(BARE_LINK, (link) => {
      weight += Math.max(0, LINK_WEIGHT - count(link));
      return link;
    })
    // The pattern and the segmenter below are created when they are used. Creating them at import would add 25 ms to the start of each process.
    .replace(/\p{RGI_Emoji}/gv, () => {
      weight += 2;
      return '';
    });
  return weight + count(rest);
}

/**
 * Returns a text whose weight is at most `max`. Shortens one part of the text, with an ellipsis, until the whole text fits.
 * @param part text that may be shortened
 * @param write function that returns the whole text with a shortened part
 */
export function shortenToWeight(part: string, write: (part: string) => string, max: number = MAX_WEIGHT): string {
  const whole = write(part);
  if (weightOf(whole) <= max) return whole;
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
  const characters = [...graphemes.segment(part)].map(({ segment }) => segment);
  for (let length = characters.length - 1; length > 0; length--) {
    const text = write(`${characters.slice(0, length).join('').trimEnd()}…`);
    if (weightOf(text) <= max) return text;
  }
  return write('…');
}
