import { createRequire } from 'node:module';
import { Resvg, type ResvgRenderOptions } from '@resvg/resvg-js';

const FAMILY = 'Tektur';
const resolve = createRequire(import.meta.url).resolve;
const fontOf = (style: string) => resolve(`@expo-google-fonts/tektur/${style}/Tektur_${style}.ttf`);

/** Rendering options: one bundled font in two weights, no system fonts, so that a card looks the same on every machine. */
export const RENDERING: ResvgRenderOptions = {
  font: { fontFiles: [fontOf('500Medium'), fontOf('800ExtraBold')], loadSystemFonts: false, defaultFontFamily: FAMILY },
  logLevel: 'off',
};

/** Font style. `size` is in px; the font has only these two weights. */
export interface Style {
  readonly size: number;
  readonly weight: 500 | 800;
  /** Letter spacing, px. */
  readonly spacing?: number;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** Returns an SVG text element. */
export function textElement(text: string, { size, weight, spacing }: Style, attributes = ''): string {
  const tracking = spacing ? ` letter-spacing="${spacing}"` : '';
  return `<text xml:space="preserve" font-family="${FAMILY}" font-weight="${weight}" font-size="${size}"${tracking} ${attributes}>${escaped(text)}</text>`;
}

const layoutOf = (text: string, style: Style) =>
  new Resvg(`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">${textElement(text, style)}</svg>`, RENDERING);

/** Returns the width of a text, px. */
export function widthOf(text: string, style: Style): number {
  const box = layoutOf(text, style).getBBox();
  return box ? box.x + box.width : 0;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const charactersOf = (text: string): string[] => [...graphemes.segment(text)].map(({ segment }) => segment);

const PROBE: Style = { size: 100, weight: 500 };
/** Replacement for characters that the font lacks. */
const REPLACEMENT = '•';
const ELLIPSIS = '…';

/**
 * Reduces a text to characters that the font can draw. Removes emoji and invisible characters, and replaces each run of other missing
 * characters with one dot.
 * @returns null when less than half of the text can be drawn
 */
export function drawableText(text: string): string | null {
  const missing = shapeOf('\u{10fffe}');
  const characters = charactersOf(text.normalize('NFC'))
    .filter((character) => !/\p{Extended_Pictographic}|\p{Regional_Indicator}/u.test(character) || /^[\p{ASCII}©®™]$/u.test(character))
    .map((character) => character.replace(/[\p{Cf}\p{Co}\p{Cn}]|\ufe0f|\u20e3/gu, ''));
  const known = characters.map((character) => (/^[\x20-\x7e]*$/.test(character) || !shapeOf(character).includes(missing) ? character : REPLACEMENT));
  const lost = known.filter((character, i) => character === REPLACEMENT && characters[i] !== REPLACEMENT).length;
  const line = known.join('').replace(/•{2,}/g, REPLACEMENT).replace(/\s+/g, ' ').trim();
  return lost * 2 > known.length || !/[\p{L}\p{N}]/u.test(line) ? null : line;
}

/**
 * Returns the outline of a text as an SVG path. For each character that the font lacks, the path contains the outline of the missing-character glyph.
 */
function shapeOf(text: string): string {
  return /\bd="([^"]*)"/.exec(layoutOf(text, PROBE).toString())?.[1] ?? '';
}

/** Shortens a text with an ellipsis if it is wider than `width` px. */
export function cut(text: string, style: Style, width: number): string {
  if (widthOf(text, style) <= width) return text;
  const characters = charactersOf(text);
  const head = (length: number) => characters.slice(0, length).join('').trimEnd() + ELLIPSIS;
  // Binary search: the longest prefix that fits the width has between `min` and `max` characters.
  let [min, max] = [0, characters.length - 1];
  while (min < max) {
    const middle = Math.ceil((min + max) / 2);
    if (widthOf(head(middle), style) <= width) min = middle;
    else max = middle - 1;
  }
  return head(min);
}

/** Fits a text on one line: reduces the font size down to `smallest` px if necessary, and shortens the text if it is still too wide. */
export function shrink(text: string, style: Style, width: number, smallest: number): { text: string; style: Style } {
  const natural = widthOf(text, style);
  const size = natural <= width ? style.size : Math.max(smallest, Math.floor((style.size * width) / natural));
  const fitted = { ...style, size };
  return { text: cut(text, fitted, width), style: fitted };
}

/** Wraps a text to at most `lines` lines. Breaks between words if possible; shortens the last line. */
export function wrap(text: string, style: Style, width: number, lines: number): string[] {
  const wrapped: string[] = [];
  let rest = text;
  while (wrapped.length < lines - 1 && widthOf(rest, style) > width) {
    const head = cut(rest, style, width).slice(0, -ELLIPSIS.length);
    const space = rest[head.length] === ' ' ? head.length : head.lastIndexOf(' ');
    // Breaks the line at its last space. If the last space is in the first third of the line, splits the word at the end of the line instead.
    const end = space > head.length / 3 ? space : head.length;
    wrapped.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return [...wrapped, cut(rest, style, width)];
}
