import { expect, test } from '@jest/globals';
import { canonicalize } from '#lib/canonical.ts';

test('keys are sorted by UTF-16 code units, at every depth, without white space', () => {
  const value = JSON.parse('{ "b": [ 2, { "z": null, "a": true } ], "a": "x", "10": 1, "9": 2 }');
  expect(canonicalize(value)).toBe('{"10":1,"9":2,"a":"x","b":[2,{"a":true,"z":null}]}');
});

test('the keys of the sorting example in RFC 8785 are sorted as in the RFC', () => {
  const value = { '€': 'Euro Sign', '\r': 'Carriage Return', '\ufb33': 'Hebrew', '1': 'One', '😀': 'Emoji', '\u0080': 'Control', ö: 'Latin' };
  const keys = [...canonicalize(value).matchAll(/"([^"]*)":/g)].map((match) => match[1]);
  expect(keys).toEqual(['\\r', '1', '\u0080', 'ö', '€', '😀', '\ufb33']);
});

test('numbers are written as ECMAScript writes them', () => {
  expect(canonicalize(JSON.parse('[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001, -0]'))).toBe(
    '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
  );
});

test('a key named __proto__ is serialized like other keys', () => {
  expect(canonicalize(JSON.parse('{"b":1,"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1},"b":1}');
});

test('values that JSON cannot represent are rejected', () => {
  for (const value of [Number.POSITIVE_INFINITY, Number.NaN, undefined, 1n, '\ud800', { a: () => 1 }]) {
    expect(() => canonicalize(value)).toThrow(TypeError);
  }
});
