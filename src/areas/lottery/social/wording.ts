import type { VoidReason } from '#lib/draw/audit.ts';
import type { RoundRow } from '../rows.ts';

/** Shortens a wallet's address to its first and last four characters for display (for example 9xQe…VFin). */
export const shortWallet = (wallet: string): string => `${wallet.slice(0, 4)}…${wallet.slice(-4)}`;

/** Formats an instant to the minute (for example 21 Nov 2026, 12:00 UTC). */
export function readableTime(instant: string): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\d+:\d+)/.exec(new Date(instant).toUTCString()) ?? [];
  return `${day} ${month} ${year}, ${time} UTC`;
}

/** Formats a count with its noun in the singular or plural (for example 1 entry, 1,234 entries). */
export const counted = (n: number, one: string, many: string): string => `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;

/** The reason why a round is void, as one sentence that is shown to users. */
export const VOID_SENTENCES: Readonly<Record<VoidReason, string>> = {
  'no-entries': 'The round had no entries.',
};

/** Returns the title of a round. A legacy round has no title, so its title is made from its id. */
export const titleOf = ({ title, id }: Pick<RoundRow, 'title' | 'id'>): string => title ?? `Ticket round ${id.slice(0, 8)}`;
