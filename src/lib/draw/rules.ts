import { millis } from './bytes.ts';
import type { Entry } from './entry.ts';
import type { Misfit } from './mismatch.ts';
import type { RoundParameters } from './parameters.ts';

/**
 * Whether entries keep their round's rules: indexes without gaps; numbers as many as are drawn, different, ascending and in range (none
 * for tickets); no message twice; nobody and nothing too often; none after the close, and in chat rounds none before the opening.
 * (The blocks of tickets go by another clock, and name their round themselves.)
 * @returns the first that does not, or null
 */
export function brokenRule(parameters: RoundParameters, entries: readonly Entry[]): Misfit | null {
  const opens = parameters.kind === 'chat' ? millis(parameters.opensAt) : Number.NEGATIVE_INFINITY;
  const closes = millis(parameters.closesAt);
  const perWallet = new Map<string, number>();
  const messages = new Set<string>();
  for (const [i, { index, wallet, numbers, source, messageId, at }] of entries.entries()) {
    const misfit = (field: string, why: string): Misfit => ({ wrong: `entries[${i}].${field}`, why });
    if (index !== i) return misfit('index', `must be ${i}`);
    const numbersFault = faultOf(parameters, numbers);
    if (numbersFault !== null) return misfit('numbers', numbersFault);
    const own = (perWallet.get(wallet) ?? 0) + 1;
    perWallet.set(wallet, own);
    if (parameters.kind === 'chat' && own > parameters.maxEntriesPerWallet) {
      return misfit('wallet', `has more than ${parameters.maxEntriesPerWallet} entries`);
    }
    if (parameters.kind === 'legacy' && parameters.maxTickets !== null && i >= parameters.maxTickets) {
      return misfit('index', `there are at most ${parameters.maxTickets} tickets`);
    }
    // A source holds no colon.
    const message = `${source}:${messageId}`;
    if (messages.has(message)) return misfit('messageId', 'is that of an earlier entry');
    messages.add(message);
    const time = millis(at);
    if (time >= closes) return misfit('at', 'is not before the round closed');
    if (time < opens) return misfit('at', 'is before the round opened');
  }
  return null;
}

/** What keeps numbers from being those of an entry, or null. */
export function faultOf(parameters: RoundParameters, numbers: readonly number[]): string | null {
  if (parameters.kind === 'legacy') return numbers.length === 0 ? null : 'a ticket has none';
  const { picks, range } = parameters;
  if (numbers.length !== picks) return `must be ${picks}`;
  const isAscending = numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? 0));
  if (!isAscending) return 'must be different and ascending';
  return (numbers[0] ?? 0) >= 1 && (numbers.at(-1) ?? 0) <= range ? null : `must be from 1 to ${range}`;
}
