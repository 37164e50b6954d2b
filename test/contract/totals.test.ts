import { expect, test } from '@jest/globals';
import { runHistory } from '#test/support/totals/run.ts';

/** Rows that the history below must contain, so that the comparison is worth something. */
const ROWS = [
  'game score regular',
  'game score beta',
  'game void regular',
  'game restore regular',
  'referral referral regular',
  'referral referral-void regular',
  'quest quest regular',
  'quest quest beta',
  'quest revoke regular',
  'adjustment adjustment regular',
  'adjustment revoke regular',
  'conversion conversion regular',
  'conversion revoke beta',
] as const;

test('profiles, boards, ledgers, stats, lists and epochs agree after a random history over days, a week, a month and a year', async () => {
  const { model } = await runHistory(4);
  const rows = new Set(model.rows.map(({ kind, reason, mode }) => `${kind} ${reason} ${mode}`));
  expect(ROWS.filter((row) => !rows.has(row))).toEqual([]);
  expect([...new Set(model.rows.map(({ day }) => new Date(day * 86_400_000).getUTCFullYear()))].sort()).toEqual([2030, 2031]);
}, 120_000);
