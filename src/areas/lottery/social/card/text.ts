import { createRequire } from 'node:module';
import { Resvg, type ResvgRenderOptions } from '@resvg/resvg-js';

const FAMILY = 'Tektur';
const resolve = createRequire(import.meta.url).resolve;
const fontOf = (style: string) => resolve(`@expo-google-fonts/tektur/${style}/Tektur_${style}.ttf`);

/** The one font of cards, in two weights; none of the machine's, so that a card is the same everywhere. */
export const RENDERING: ResvgRenderOptions = {
  font: { fontFiles: [fontOf('500Medium'), fontOf('800ExtraBold')], loadSystemFonts: false, defaultFontFamily: FAMILY },
  logLevel: 'off',
};

/** How text is set: px, and one of the weights that are there. */
export interface Style {
  readonly size: number;
  readonly weight: 500 | 800;
  /** Between characters, px. */
  readonly spacing?: number;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** A text element. */
export function textElement(text: string, { size, weight, spacing }: Style, attributes = ''): string {
  const tracking = spacing ? ` letter-spacing="${spacing}"` : '';
  return `<text xml:space="preserve" font-family="${FAMILY}" font-weight="${weight}" font-size="${size}"${tracking} ${attributes}>${escaped(text)}</text>`;
}

const alone = (text: string, style: Style) =>
  new Resvg(`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">${textElement(text, style)}</svg>`, RENDERING);

/** How far a text goes, px. */
export function widthOf(text: string, style: Style): number {
  const box = alone(text, style).getBBox();
  return box ? box.x + box.width : 0;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const charactersOf = (text: string): string[] => [...graphemes.segment(text)].map(({ segment }) => segment);

const PROBE: Style = { size: 100, weight: 500 };
/** What stands for characters that the font does not have. */
const STAND_IN = '•';
const ELLIPSIS = '…';

/**
 * A text in what the font can draw: emoji and what cannot be seen fall away, a run of other characters that it does not have becomes one dot.
 * @returns null where little of the text would be left
 */
export function legible(text: string): string | null {
  const missing = shapeOf('\u{10fffe}');
  const characters = charactersOf(text.normalize('NFC'))
    .filter((character) => !/\p{Extended_Pictographic}|\p{Regional_Indicator}/u.test(character) || /^[\p{ASCII}©®™]$/u.test(character))
    .map((character) => character.replace(/[\p{Cf}\p{Co}\p{Cn}]|\ufe0f|\u20e3/gu, ''));
  const known = characters.map((character) => (/^[\x20-\x7e]*$/.test(character) || !shapeOf(character).includes(missing) ? character : STAND_IN));
  const lost = known.filter((character, i) => character === STAND_IN && characters[i] !== STAND_IN).length;
  const line = known.join('').replace(/•{2,}/g, STAND_IN).replace(/\s+/g, ' ').trim();
  return lost * 2 > known.length || !/[\p{L}\p{N}]/u.test(line) ? null : line;
}

/** The outline of a text: that of a character which is missing is in it where one is. */
function shapeOf(text: string): string {
  return /\bd="([^"]*)"/.exec(alone(text, PROBE).toString())?.[1] ?? '';
}

/** A text, cut with an ellipsis where it is wider than `width`. */
export function cut(text: string, style: Style, width: number): string {
  if (widthOf(text, style) <= width) return text;
  const characters = charactersOf(text);
  const head = (length: number) => characters.slice(0, length).join('').trimEnd() + ELLIPSIS;
  // The longest head that fits lies in [least, most].
  let [least, most] = [0, characters.length - 1];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (widthOf(head(middle), style) <= width) least = middle;
    else most = middle - 1;
  }
  return head(least);
}

/** A text on one line: smaller where it must be, to `smallest` px, and cut where that is not enough. */
export function shrink(text: string, style: Style, width: number, smallest: number): { text: string; style: Style } {
  const natural = widthOf(text, style);
  const size = natural <= width ? style.size : Math.max(smallest, Math.floor((style.size * width) / natural));
  const fitted = { ...style, size };
  return { text: cut(text, fitted, width), style: fitted };
}

/** A text on up to so many lines, broken between words where that is possible; the last line is cut. */
export function wrap(text: string, style: Style, width: number, lines: number): string[] {
  const wrapped: string[] = [];
  let rest = text;
  while (wrapped.length < lines - 1 && widthOf(rest, style) > width) {
    const head = cut(rest, style, width).slice(0, -ELLIPSIS.length);
    const space = rest[head.length] === ' ' ? head.length : head.lastIndexOf(' ');
    // A single word that is longer than the line is broken where the line ends.
    const end = space > head.length / 3 ? space : head.length;
    wrapped.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return [...wrapped, cut(rest, style, width)];
}
