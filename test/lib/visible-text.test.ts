import { describe, expect, test } from '@jest/globals';
import { line } from '#lib/scalars.ts';
import { hiddenTextFault, normalizeText } from '#lib/visible-text.ts';

const SHOWN: readonly (readonly [name: string, text: string])[] = [
  ['English', 'good luck!'],
  ['German', 'Größe, Übung'],
  ['Vietnamese with two marks on a letter', 'Tiếng Việt'],
  ['four marks on a letter', `q${'\u0301'.repeat(4)}`],
  ['Hebrew with points', 'שָׁלוֹם עֲלֵיכֶם'],
  ['Arabic with vowel signs', 'السَّلَامُ عَلَيْكُمْ'],
  ['Persian with a zero-width non-joiner', 'می\u200Cخواهم'],
  ['Hindi with a zero-width joiner', 'क\u094D\u200Dष'],
  ['Thai', 'สวัสดีครับ น้ำ'],
  ['Chinese', '你好，世界'],
  ['Korean', '안녕하세요'],
  ['an emoji', '🎉'],
  ['a family, whose emoji has zero-width joiners', '👨‍👩‍👧‍👦'],
  ['a profession with a skin colour', '👩🏽‍💻'],
  ['a flag of two letters', '🇩🇪'],
  ['the flag of Scotland, which has tag characters', '🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
  ['a character that is shown as an emoji', '☎️ and ©️'],
];

const HIDDEN: readonly (readonly [name: string, text: string, fault: RegExp])[] = [
  ['a right-to-left override', 'safe\u202Egpj.exe', /invisible/],
  ['a right-to-left isolate', 'a\u2067b\u2069', /invisible/],
  ['a right-to-left mark', 'a\u200Fb', /invisible/],
  ['an Arabic letter mark', 'a\u061Cb', /invisible/],
  ['a zero-width space', 'ad\u200Bmin', /invisible/],
  ['a zero-width joiner between Latin letters', 'ad\u200Dmin', /invisible/],
  ['a word joiner', 'ad\u2060min', /invisible/],
  ['a byte order mark', 'ad\uFEFFmin', /invisible/],
  ['a soft hyphen', 'ad\u00ADmin', /invisible/],
  ['a combining grapheme joiner', 'a\u034Fb', /invisible/],
  ['a Hangul filler', 'a\u3164b', /invisible/],
  ['a variation selector on a letter', 'a\uFE0Fb', /invisible/],
  ['tag characters that spell a text', `hi${String.fromCodePoint(0xe0068, 0xe0069)}`, /invisible/],
  ['tag characters after an emoji', `😀${String.fromCodePoint(0xe0041, 0xe0042)}`, /invisible/],
  ['a supplementary variation selector', `a${String.fromCodePoint(0xe0101)}`, /invisible/],
  ['a line separator', 'a\u2028b', /invisible/],
  ['an interlinear annotation', 'a\uFFF9b\uFFFAc\uFFFB', /invisible/],
  ['five marks on a letter', `q${'\u0301'.repeat(5)}`, /combining marks/],
  ['marks of several kinds on a letter', `Z\u0351\u036B\u0343\u036A\u0302`, /combining marks/],
  ['only a combining mark', '\u0301', /visible/],
  ['only Braille patterns without dots', '\u2800\u2800', /visible/],
];

describe('hiddenTextFault', () => {
  test.each(SHOWN)('accepts %s', (_name, text) => expect(hiddenTextFault(normalizeText(text))).toBeNull());
  test.each(HIDDEN)('refuses %s', (_name, text, fault) => expect(hiddenTextFault(normalizeText(text))).toMatch(fault));
});

describe('line', () => {
  test('returns text in the form NFC', () => expect(line(10).parse(' Gro\u0308ße ')).toBe('Größe'));
  test('keeps the look of text: a ligature and a circled digit stay', () => expect(line(10).parse('ﬁ ①')).toBe('ﬁ ①'));
  test('counts the characters of the normalized text', () => expect(line(1).parse('u\u0308')).toBe('ü'));
  test('refuses hidden text', () => expect(line(20).safeParse('ad\u200Bmin').error?.issues[0]?.message).toMatch(/invisible characters/));
});
