import type { Random } from '../random.ts';

/** Text that often reveals errors in parsers and databases. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '\u202egnirts',
  'e\u0301\u0327\u0489'.repeat(20),
  '\ufeffbom',
  '\u200b',
  '👩‍👩‍👧‍👦',
  '𝔘𝔫𝔦',
  'ﬁ',
  'İstanbul',
  '\r\nInjected: yes\r\n\r\n',
  '%0d%0aInjected: yes',
  '../../../../etc/passwd',
  '..%2f..%2f',
  "' or 1=1 --",
  '"; drop table scores; --',
  '$1',
  '\\',
  '{{7*7}}',
  '#{7*7}',
  '<script>alert(1)</script>',
  '<!ENTITY x SYSTEM "file:/etc/passwd">',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'NaN',
  'Infinity',
  '-0',
  '1e400',
  '0x10',
  '1_000',
  '٣',
  '１２',
  'true',
  '9'.repeat(400),
  '-9223372036854775809',
  '18446744073709551616',
  '0000-01-01',
  '9999-12-31',
  '2024-02-30',
  '+275760-09-13T00:00:00.001Z',
  '0001-01-01T00:00:00Z',
  '2026-12-31T23:59:60Z',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '11111111111111111111111111111111',
  'SysvarC1ock11111111111111111111111111111111',
  '@',
  'a.sol',
  '.sol',
  '!enter',
  '!enter 0 -1 1e9 7 7',
  'possess',
  'referral',
  'active',
];

const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.1,
  1.5,
  -1.5,
  1e-320,
  5e-324,
  127,
  128,
  255,
  32_767,
  32_768,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  -Number.MAX_SAFE_INTEGER,
  2 ** 63,
  2 ** 64,
  1e21,
  1e300,
  Number.MAX_VALUE,
];

/** Lengths of long text, characters. The two largest lengths are just below and just above the maximum length of a request body. */
const LONG: readonly number[] = [129, 513, 4_097, 70_000, 250_000, 300_000];
const FILLINGS: readonly string[] = ['a', 'z', '9', '1', ' ', '-', '0', 'é', '\t', 'A.', '%', '😀', '\u0301'];

/**
 * Returns hostile text.
 * @param maxLength the maximum length, characters
 */
export function hostileText(random: Random, maxLength = 300_000): string {
  // Sometimes returns text that PostgreSQL cannot store (with NUL or half of a surrogate pair).
  if (random.chance(0.15)) return random.pick(['\u0000', 'a\u0000b', '\ud800', '\udc00x']);
  if (random.chance(0.8)) return random.pick(TEXTS).slice(0, maxLength);
  const length = random.pick(LONG.filter((one) => one <= Math.max(maxLength, 129)));
  const filling = random.pick(FILLINGS);
  const text = filling.repeat(Math.ceil(length / filling.length)).slice(0, Math.min(length, maxLength));
  return random.chance(0.5) ? text : `${text}!`;
}

/** Returns a random hostile value: text, a number, a list, an object or a constant. */
function hostileValue(random: Random): unknown {
  const kind = random.int(0, 9);
  if (kind <= 3) return hostileText(random);
  if (kind <= 6) return random.pick(NUMBERS);
  if (kind === 7) return random.pick([null, true, false, [], {}, [[]], [null], { '': 0 }]);
  if (kind === 8) return nested(random.pick([3, 62, 63, 64, 65, 500, 3_000]), random.chance(0.5));
  return random.chance(0.5) ? Array.from({ length: random.pick([17, 600, 20_000]) }, () => 1) : wide(random.pick([50, 5_000]));
}

/** Keys that exist on every object or promise. */
const PROTOTYPE_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'then', 'toJSON'] as const;

function nested(depth: number, isArray: boolean): unknown {
  let value: unknown = 0;
  for (let i = 0; i < depth; i++) value = isArray ? [value] : { a: value };
  return value;
}

const wide = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, i) => [String(i * 4_294_967), i]));

/** Returns a copy of a value in which one random part is mutated, or in which all texts are replaced. */
export function mutateValue(value: unknown, random: Random): unknown {
  if (random.chance(0.2)) return withTexts(value, () => random.pick(TEXTS));
  const paths = pathsIn(value);
  const path = random.pick(paths);
  return replaced(value, path, (old) => mutateOne(old, random));
}

function withTexts(value: unknown, text: () => string): unknown {
  if (typeof value === 'string') return text();
  if (Array.isArray(value)) return value.map((item) => withTexts(item, text));
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withTexts(item, text)])) : value;
}

function mutateOne(value: unknown, random: Random): unknown {
  const kind = random.int(0, 9);
  if (Array.isArray(value) && kind < 4) {
    if (kind === 0) return [];
    if (kind === 1) return [...value, ...value, ...value];
    if (kind === 2) return Array.from({ length: 3_000 }, (_, i) => value[i % Math.max(1, value.length)] ?? 0);
    return [...value, hostileValue(random)];
  }
  if (isRecord(value) && kind < 6) {
    const keys = Object.keys(value);
    if (kind <= 1 && keys.length > 0) return without(value, random.pick(keys));
    if (kind === 2) return { ...value, [`${random.pick(keys.length > 0 ? keys : ['x'])}2`]: 1 };
    if (kind === 3) return { ...value, [random.pick(TEXTS)]: 1 };
    if (kind === 4) return withOwn(value, random.pick(PROTOTYPE_KEYS), { isAdmin: true });
    return withOwn(value, hostileText(random, 70_000), 1);
  }
  if (kind === 0) return [value];
  if (kind === 1) return { value };
  if (kind === 2)
    return typeof value === 'number' ? String(value) : typeof value === 'string' && Number.isFinite(Number(value)) ? Number(value) : null;
  if (kind === 3 && typeof value === 'number') return random.pick([value + 1, -value, value + 0.5, value * 1e9]);
  if (kind === 3 && typeof value === 'string')
    return random.pick([`${value} `, ` ${value}`, value.toUpperCase(), value.slice(1), `${value}\u0000`, value + value]);
  if (kind === 4 && typeof value === 'string') return longText(value, random);
  return hostileValue(random);
}

/** Returns text near the maximum length of a body, because long text shows algorithms whose time grows faster than the length. */
function longText(text: string, random: Random): string {
  const filling = random.chance(0.5) ? text || 'a' : random.pick(FILLINGS);
  return `${filling.repeat(Math.ceil(random.pick([100_000, 250_000]) / filling.length))}${random.pick(['', '!'])}`;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const without = (value: Record<string, unknown>, key: string) => Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));

/** Returns a copy of an object with one more field. Adds even `__proto__` as an ordinary field, as `JSON.parse` does. */
function withOwn(value: Record<string, unknown>, key: string, field: unknown): Record<string, unknown> {
  const copy = { ...value };
  Object.defineProperty(copy, key, { value: field, enumerable: true, configurable: true, writable: true });
  return copy;
}

type Path = readonly (string | number)[];

function pathsIn(value: unknown, at: Path = []): Path[] {
  if (Array.isArray(value)) return [at, ...value.slice(0, 5).flatMap((item, i) => pathsIn(item, [...at, i]))];
  if (isRecord(value)) return [at, ...Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...at, key]))];
  return [at];
}

function replaced(value: unknown, [first, ...others]: Path, by: (old: unknown) => unknown): unknown {
  if (first === undefined) return by(value);
  if (Array.isArray(value)) return value.map((item, i) => (i === first ? replaced(item, others, by) : item));
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, key === first ? replaced(item, others, by) : item]));
  return value;
}

/** Returns JSON text with a change that makes the text invalid or unusual. */
export function mutateJsonText(json: string, random: Random): Buffer {
  const numbers = /(?<=[:[,])-?\d+(?:\.\d+)?(?=[,\]}])/g;
  const literal = random.pick([
    '1e400',
    '-1e400',
    '-0',
    '1.0',
    '1e2',
    '0.1e-400',
    '01',
    '+1',
    '.5',
    '1.',
    'NaN',
    'Infinity',
    'undefined',
    '1n',
    '9'.repeat(5_000),
  ]);
  const strings = /(?<=:)"[^"]*"(?=[,}])/g;
  const written = random.pick([
    '"\\u0000"',
    '"\\ud800"',
    '"\\udfff\\ud800"',
    '"\\x41"',
    "'a'",
    '"\t"',
    '"\\u00"',
    '/**/1',
    `"${'\\u0041'.repeat(2_000)}"`,
  ]);
  const mutations: readonly (() => string | Buffer)[] = [
    () => json.replace(numbers, literal),
    () => json.replace(strings, () => written),
    () => json.slice(0, Math.floor(json.length * random.next())),
    () => `${json}${random.pick(['}', ',', ' null', json, '\u0000', '//'])}`,
    () => `\ufeff${json}`,
    () => json.replace(/^\{(.+)\}$/s, '{$1,$1}'),
    () => json.replace(/^\{/, '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},'),
    () => json.replace(/,/g, ',,'),
    () => Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from([0xff, 0xfe, 0xc0, 0x80])]),
    () => Buffer.from(json, 'utf16le'),
    () => Buffer.from(json.replace(strings, '"é"'), 'latin1'),
    () => `[${'1e1,'.repeat(60_000)}1]`,
    () => `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`,
    () => '['.repeat(100_000),
    () => `{${Array.from({ length: 9_000 }, (_, i) => `"${i * 7}":${i}`).join()}}`,
    () => random.pick(['null', 'true', '0', '""', '[]', '{}', '[{}]', ' ', '\n', '"\\"']),
    () => `${' '.repeat(random.pick([10, 250_000, 262_144 - json.length, 262_145 - json.length]))}${json}`,
  ];
  const mutated = random.pick(mutations)();
  return typeof mutated === 'string' ? Buffer.from(mutated) : mutated;
}
