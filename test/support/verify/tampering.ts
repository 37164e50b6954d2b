import { addressOf } from '#test/lib/draw/rounds.ts';

/** A path in a JSON value. */
export type Path = readonly (string | number)[];

/** Returns the paths of all leaf values of a JSON value. */
export function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [[...path]];
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...path, Array.isArray(value) ? Number(key) : key]));
}

/** Returns a copy in which one leaf has another value of the same type. */
export function tampered(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return otherThan(value);
  const copy: unknown = structuredClone(value);
  if (typeof copy === 'object' && copy !== null) Reflect.set(copy, key, tampered(Reflect.get(copy, key), rest));
  return copy;
}

function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value !== 'string') return 'something';
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return new Date(Date.parse(value) + 1_000).toISOString();
  if (/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)) return addressOf(value);
  const letters = [...value];
  const last = letters.pop();
  return `${letters.join('')}${last === '1' ? '2' : '1'}`;
}

/** Formats a path as verifiers do: `winners[0].prize.amount`. */
export const textOf = (path: Path): string => path.map((key, i) => (typeof key === 'number' ? `[${key}]` : i === 0 ? key : `.${key}`)).join('');
