/**
 * Returns an amount of base units as an exact decimal number with thousands separators, such as `1,250.5`.
 * @param amount whole number of base units
 * @param places decimals of the token
 */
export function formatUnits(amount: string, places: number): string {
  const digits = amount.padStart(places + 1, '0');
  const point = digits.length - places;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return `${group(digits.slice(0, point))}${fraction === '' ? '' : `.${fraction}`}`;
}

const group = (digits: string): string => digits.replace(/\B(?=(?:\d{3})+$)/g, ',');
