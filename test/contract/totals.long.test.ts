import { test } from '@jest/globals';
import { runHistory } from '#test/support/totals/run.ts';

test.each(Array.from({ length: Number(process.env.MODEL_SEEDS ?? 6) }, (_, i) => i + 5))(
  'profiles, boards, ledgers, stats, lists and epochs agree after random history %i',
  async (seed) => void (await runHistory(seed)),
  180_000,
);
