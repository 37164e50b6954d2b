import { expect, test } from '@jest/globals';
import { daysBefore, newId, rangeOf, tomorrow } from '#lib/ids.ts';

test('ids are UUIDs of version 7, and their times never decrease', () => {
  const before = Date.now();
  const ids = Array.from({ length: 5_000 }, newId);
  const after = Date.now();
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const times = ids.map((id) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(before);
  expect(times.at(-1)).toBeLessThanOrEqual(after);
});

test('the random bits of 5,000 ids repeat in no two ids', () => {
  // Compares only the last 62 bits, which are random, so that equal times cannot hide a repetition.
  const tails = Array.from({ length: 5_000 }, () => newId().slice(19));
  expect(new Set(tails).size).toBe(tails.length);
});

test('the range of ids is the first and the last of them, and is empty for no ids', () => {
  const [first = '', second = '', third = ''] = ['0199b3a2', '0199b3a3', '0199c000'].map((time) => `${time}-7c1e-7d44-9a57-2f1f5e0c9b1a`);
  expect(rangeOf([second, third, first])).toEqual([first, third]);
  expect(rangeOf([second])).toEqual([second, second]);
  expect(rangeOf([])).toEqual([null, null]);
});

test('the first id of the time some days before an id has its time less these days, and no random digits', () => {
  expect(daysBefore('0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', 1)).toBe('0199ae7c-201e-0000-0000-000000000000');
});

test('a day before the first id of all is the first id of all', () => {
  expect(daysBefore('00000000-0001-7000-8000-000000000000', 1)).toBe('00000000-0000-0000-0000-000000000000');
});

test('the first id of tomorrow is greater than the ids of now, and is 24 hours later', () => {
  const before = newId();
  expect(daysBefore(tomorrow(), 1).slice(0, 13) >= before.slice(0, 13)).toBe(true);
  expect(daysBefore(tomorrow(), 1) < newId()).toBe(true);
});
