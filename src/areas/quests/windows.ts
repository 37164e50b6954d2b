import { bucketOf, bucketStart, dayNumber, dayStart } from '#lib/periods.ts';

/** How often a quest can be completed: once at all, once a UTC day, once an ISO week. */
export const REPEATS = ['once', 'daily', 'weekly'] as const;
export type Repeat = (typeof REPEATS)[number];

/** The UTC days that count for one completion of a quest, both inclusive. */
export interface QuestWindow {
  /** Unique per quest: `once`, a day as `2026-11-21`, an ISO week as `2026-W47`. */
  readonly key: string;
  readonly first: number;
  readonly last: number;
  /** When the next window begins; null where there is none. */
  readonly resetsAt: Date | null;
}

/** 9999-12-31: a window without an end. */
const LAST_DAY = 2_932_896;

/** `2026-W47`: the year is that of the week's Thursday. */
function weekKey(monday: number): string {
  const year = dayStart(monday + 3).getUTCFullYear();
  const firstMonday = bucketStart('week', bucketOf('week', dayNumber(new Date(Date.UTC(year, 0, 4)))));
  return `${year}-W${String((monday - firstMonday) / 7 + 1).padStart(2, '0')}`;
}

/**
 * The window of a quest that a UTC day belongs to. A quest counts whole days: all of the day that it starts on, none before.
 * @param start the day number that it starts on; `end` the last one that it has, if any
 */
export function windowOf(repeat: Repeat, start: number, end: number | null, day: number): QuestWindow {
  const past = end ?? LAST_DAY;
  if (repeat === 'once') return { key: 'once', first: start, last: past, resetsAt: null };
  if (repeat === 'daily') return { key: dayStart(day).toISOString().slice(0, 10), first: day, last: day, resetsAt: dayStart(day + 1) };
  const monday = bucketStart('week', bucketOf('week', day));
  return { key: weekKey(monday), first: Math.max(monday, start), last: Math.min(monday + 6, past), resetsAt: dayStart(monday + 7) };
}
