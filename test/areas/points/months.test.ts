import { expect, test } from '@jest/globals';
import { firstId, monthText, parseMonth } from '#areas/points/history/months.ts';
import { bucketOf, parseDay } from '#lib/periods.ts';

test('the text of a month is its year and its two digits, and no other text is a month', () => {
  for (const text of ['2026-01', '2026-09', '2026-12', '2031-10']) {
    expect(parseMonth(text)).toBe(bucketOf('month', parseDay(`${text}-15`)));
    expect(monthText(parseMonth(text) ?? 0)).toBe(text);
  }
  for (const text of ['2026-00', '2026-13', '2026-9', '2026-09-01', '26-09', '']) expect(parseMonth(text)).toBeNull();
});

test('the first id of a day has the time of its midnight and no random digits', () => {
  expect(firstId(parseDay('2026-09-01'))).toBe('01a05a43-fc00-0000-0000-000000000000');
});
