import { millis } from './bytes.ts';
import type { Entry } from './entry.ts';
import type { Mismatch } from './mismatch.ts';
import type { RoundParameters } from './parameters.ts';

/** Maximum entries of a wallet, and of the round; null means no limit. */
function limitsOf(parameters: RoundParameters): { readonly perWallet: number | null; readonly perRound: number | null } {
  return parameters.kind === 'chat'
    ? { perWallet: parameters.maxEntriesPerWallet, perRound: null }
    : { perWallet: parameters.maxTicketsPerWallet, perRound: parameters.maxTickets };
}

/**
 * Checks the entries of a round against these rules:
 * - The indexes are 0, 1, 2, … without gaps.
 * - An entry of a chat round has exactly `picks` different numbers, ascending, from 1 to `range`. A ticket has no numbers.
 * - Each message occurs only once.
 * - No wallet has more entries than `maxEntriesPerWallet` or `maxTicketsPerWallet`, and a legacy round has at most `maxTickets` tickets.
 * - The times of the entries never decrease, none is before the round opens, and each is before `closesAt`.
 * The conditions in `entryRules` cannot be checked from the entries.
 * @returns the rule that the entry with the lowest index breaks, or null if no entry breaks a rule
 */
export function findBrokenRule(parameters: RoundParameters, entries: readonly Entry[]): Mismatch | null {
  const closes = millis(parameters.closesAt);
  const limits = limitsOf(parameters);
  const perWallet = new Map<string, number>();
  const messages = new Set<string>();
  let last = millis(parameters.opensAt);
  for (const [i, { index, wallet, numbers, source, messageId, at }] of entries.entries()) {
    const mismatch = (field: string, why: string): Mismatch => ({ where: `entries[${i}].${field}`, reason: why });
    if (index !== i) return mismatch('index', `must be ${i}`);
    const numbersFault = numbersError(parameters, numbers);
    if (numbersFault !== null) return mismatch('numbers', numbersFault);
    const own = (perWallet.get(wallet) ?? 0) + 1;
    perWallet.set(wallet, own);
    if (limits.perWallet !== null && own > limits.perWallet) return mismatch('wallet', `has more than ${limits.perWallet} entries`);
    if (limits.perRound !== null && i >= limits.perRound) return mismatch('index', `there are at most ${limits.perRound} tickets`);
    // A source contains no colon, so two different messages never have the same text here.
    const message = `${source}:${messageId}`;
    if (messages.has(message)) return mismatch('messageId', 'is also the messageId of an earlier entry');
    messages.add(message);
    const time = millis(at);
    if (time >= closes) return mismatch('at', 'is not before the round closed');
    if (time < last) return mismatch('at', i === 0 ? 'is before the round opened' : 'is before the time of the previous entry');
    last = time;
  }
  return null;
}

/** Returns the rule that the numbers of an entry break, worded as the end of an error sentence; null when the numbers break no rule. */
export function numbersError(parameters: RoundParameters, numbers: readonly number[]): string | null {
  if (parameters.kind === 'legacy') return numbers.length === 0 ? null : 'must be empty, because a ticket has no numbers';
  const { picks, range } = parameters;
  if (numbers.length !== picks) return `must be ${picks} numbers`;
  const isAscending = numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? 0));
  if (!isAscending) return 'must be different and ascending';
  return (numbers[0] ?? 0) >= 1 && (numbers.at(-1) ?? 0) <= range ? null : `must be from 1 to ${range}`;
}
