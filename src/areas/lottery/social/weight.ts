/** The most that a post may weigh on X. */
export const MOST_WEIGHT = 280;
/** Any link weighs as much: X puts its own in its place. */
const LINK = 23;

/** What weighs 1 per character: Latin and its neighbours, punctuation. All else weighs 2, and so does an emoji as a whole. */
const LIGHT = [
  [0x0000, 0x10ff],
  [0x2000, 0x200d],
  [0x2010, 0x201f],
  [0x2032, 0x2037],
] as const;
const WITH_SCHEME = /https?:\/\/\S+/giu;
/** What X might take for a link: names with a dot. It is taken for the heavier of the two. */
const BARE_LINK = /[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+\S*/giu;
const EMOJI = /\p{RGI_Emoji}/gv;

function weightOfCharacter(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  return LIGHT.some(([first, last]) => point >= first && point <= last) ? 1 : 2;
}
const count = (text: string): number => [...text].reduce((sum, character) => sum + weightOfCharacter(character), 0);

/** How much a text weighs, as X counts it; where X's reading is not sure, the heavier one. */
export function weightOf(text: string): number {
  let weight = 0;
  const rest = text
    .normalize('NFC')
    .replace(WITH_SCHEME, () => {
      weight += LINK;
      return '';
    })
    .replace(BARE_LINK, (link) => {
      weight += Math.max(0, LINK - count(link));
      return link;
    })
    .replace(EMOJI, () => {
      weight += 2;
      return '';
    });
  return weight + count(rest);
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * A text with a part that gives way: it is cut, with an ellipsis, until the whole weighs no more than it may.
 * @param write the text around the part
 */
export function within(part: string, write: (part: string) => string, most: number = MOST_WEIGHT): string {
  const whole = write(part);
  if (weightOf(whole) <= most) return whole;
  const characters = [...graphemes.segment(part)].map(({ segment }) => segment);
  for (let length = characters.length - 1; length > 0; length--) {
    const text = write(`${characters.slice(0, length).join('').trimEnd()}…`);
    if (weightOf(text) <= most) return text;
  }
  return write('…');
}
