import { settings } from '../settings.ts';
import { formatUnits } from './units.ts';

type Token = 'reward' | 'usdc';

const NAMES: Readonly<Record<Token, string>> = { reward: 'tokens', usdc: 'USDC' };

/** Returns an amount of base units as tokens, exactly: `1,250.5 tokens`. Without the decimals of the token it stays in base units. */
export function amountText(amount: string, token: Token = 'reward'): string {
  const places = settings.decimals?.[token];
  return places === undefined ? `${formatUnits(amount, 0)} base units` : `${formatUnits(amount, places)} ${NAMES[token]}`;
}

const NUMBER = new Intl.NumberFormat('en-US');
/** Returns a whole number with thousands separators. */
export const numberText = (value: number): string => NUMBER.format(value);
