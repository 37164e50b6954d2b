import { expect, test } from '@jest/globals';
import { formatUnits } from '#packages/web/src/ui/units.ts';

test.each([
  ['0', 6, '0'],
  ['5', 6, '0.000005'],
  ['2500000', 6, '2.5'],
  ['1250500000', 6, '1,250.5'],
  ['100000000000', 6, '100,000'],
  ['18446744073709551615', 9, '18,446,744,073.709551615'],
  ['1000', 0, '1,000'],
])('%s base units of a token with %i decimals are %s tokens', (amount, places, text) => {
  expect(formatUnits(amount, places)).toBe(text);
});
