import { bucketStart, dayStart } from '#lib/periods.ts';

/** The partitioned tables and the column by which each is partitioned: the UTC day of the cause, or an id that begins with a time. */
const KEYS = { activities: 'cause_day', ledger: 'cause_day', plays: 'id', score_plays: 'play_id', scores: 'id' } as const;
export type Relation = keyof typeof KEYS;

/** Returns whether the text is the name of a table that may be partitioned. */
export const isRelation = (name: string): name is Relation => Object.hasOwn(KEYS, name);

/** Returns the year and the month of a bucket, such as `2026-09`. */
export const monthText = (month: number): string => `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`;

/** Returns the bucket of a text such as `2026-09`; null when the text is no month. */
export function parseMonth(text: string): number | null {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  return year === undefined || month === undefined ? null : Number(year) * 12 + Number(month) - 1;
}

/** Returns the name of the partition of a month. */
export const partitionOf = (relation: Relation, month: number): string => `${relation}_${monthText(month).replace('-', '_')}`;

const firstDayOf = (month: string) => `make_date((${month}) / 12, (${month}) % 12 + 1, 1)`;

/**
 * Returns the SQL condition that the month of a score is not closed. A statement that changes a score of a closed month fails.
 * @param id an SQL expression for the id of the score
 */
export const isOfOpenMonth = (id: string): string =>
  `not exists (select from closed_partitions k where k.relation = 'scores' and ${id} >= partition_bound('id', ${firstDayOf('k.month')})::uuid
     and ${id} < partition_bound('id', ${firstDayOf('k.month + 1')})::uuid)`;

/** Returns the SQL condition that selects the rows of a month, so that PostgreSQL reads one partition only. */
export function ofMonth(relation: Relation, month: number): string {
  const key = KEYS[relation];
  const [from, to] = [bucketStart('month', month), bucketStart('month', month + 1)].map((day) => (key === 'cause_day' ? day : `'${firstId(day)}'`));
  return `${key} >= ${from} and ${key} < ${to}`;
}

/** Returns the lowest UUIDv7 of a UTC day. */
export function firstId(day: number): string {
  const digits = dayStart(day).getTime().toString(16).padStart(12, '0').padEnd(32, '0');
  return [0, 8, 12, 16, 20].map((at, i, starts) => digits.slice(at, starts[i + 1])).join('-');
}
