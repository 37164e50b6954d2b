import type { VoidReason } from '#lib/draw/audit.ts';
import type { RoundRow } from '../rows.ts';

/** A wallet where it is only to be recognised: 9xQe…VFin. */
export const shortWallet = (wallet: string): string => `${wallet.slice(0, 4)}…${wallet.slice(-4)}`;

/** An instant to the minute: 21 Nov 2026, 12:00 UTC. */
export function readableTime(instant: string): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\d+:\d+)/.exec(new Date(instant).toUTCString()) ?? [];
  return `${day} ${month} ${year}, ${time} UTC`;
}

/** A count of something: 1 entry, 1,234 entries. */
export const counted = (n: number, one: string, many: string): string => `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;

/** Why a round is void, in one sentence. */
export const VOID_SENTENCES: Readonly<Record<VoidReason, string>> = {
  'no-entries': 'Nobody entered.',
  'late-block': 'Its commitment reached the chain too late for the beacon’s round.',
  'no-beacon': 'The beacon gave no verifiable number within a day.',
  'entries-differ': 'The published entries are not those that were committed to.',
};

/** What a round is called: legacy rounds have no title of their own. */
export const titleOf = ({ title, id }: Pick<RoundRow, 'title' | 'id'>): string => title ?? `Ticket round ${id.slice(0, 8)}`;
