import { bucketOf, bucketStart, dayNumber, dayStart } from '#lib/periods.ts';

/** How often a wallet can complete a quest: once ever, once per UTC day, or once per ISO week. */
export const REPEATS = ['once', 'daily', 'weekly'] as const;
type Repeat = (typeof REPEATS)[number];

/** The UTC days that count for one completion of a quest. `first` and `last` are day numbers, both inclusive. */
export interface QuestWindow {
  /** Key of the window, unique within the quest: `once`, a day (`2026-11-21`) or an ISO week (`2026-W47`). */
  readonly key: string;
  readonly first: number;
  readonly last: number;
  /** Start of the next window; null for a quest that has only one window. */
  readonly resetsAt: Date | null;
}

/** 9999-12-31 as a day number: the last day of a window without an end. */
const LAST_DAY = 2_932_896;

/** Returns the key of the ISO week that begins on a Monday, such as `2026-W47`. The year of the week is the year of its Thursday. */
function weekKey(monday: number): string {
  const year = dayStart(monday + 3).getUTCFullYear();
  const firstMonday = bucketStart('week', bucketOf('week', dayNumber(new Date(Date.UTC(year, 0, 4)))));
  return `${year}-W${String((monday - firstMonday) / 7 + 1).padStart(2, '0')}`;
}

/**
 * Returns the window of a quest that contains a UTC day. A quest counts whole days, also the whole day on which it starts.
 * @param start the day number of the quest's first day
 * @param end the day number of the quest's last day; null for a quest without an end
 */
export function windowOf(repeat: Repeat, start: number, end: number | null, day: number): QuestWindow {
  const lastDay = end ?? LAST_DAY;
  if (repeat === 'once') return { key: 'once', first: start, last: lastDay, resetsAt: null };
  if (repeat === 'daily') return { key: dayStart(day).toISOString().slice(0, 10), first: day, last: day, resetsAt: dayStart(day + 1) };
  const monday = bucketStart('week', bucketOf('week', day));
  return { key: weekKey(monday), first: Math.max(monday, start), last: Math.min(monday + 6, lastDay), resetsAt: dayStart(monday + 7) };
}
