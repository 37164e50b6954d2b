import type { z } from 'zod';

/** What is wrong, by its place in what was given (as in `winners[0].prize.amount`), and why. */
export interface Misfit {
  readonly wrong: string;
  readonly why: string;
}

/** The first thing that keeps a value from its shape. */
export function shapeMisfit(error: z.ZodError, root: string): Misfit {
  const issue = error.issues[0];
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown].reduce<string>((left, key) => step(left, key), root);
  return { wrong: path === '' ? 'audit' : path, why: issue?.message ?? 'is not of this shape' };
}

const step = (path: string, key: PropertyKey): string =>
  typeof key === 'number' ? `${path}[${key}]` : path === '' ? String(key) : `${path}.${String(key)}`;

/** The first place at which two plain values differ. */
export function firstDifference(expected: unknown, found: unknown, path: string): Misfit | null {
  if (Object.is(expected, found)) return null;
  const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;
  if (!isBranch(expected) || !isBranch(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return { wrong: path, why: `is ${short(found)}, but must be ${short(expected)}` };
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const name = Array.isArray(expected) ? Number(key) : key;
    const difference = firstDifference(Reflect.get(expected, key), Reflect.get(found, key), step(path, name));
    if (difference !== null) return difference;
  }
  return null;
}

const MOST_SHOWN = 200;
const short = (value: unknown): string => (JSON.stringify(value) ?? 'missing').slice(0, MOST_SHOWN);
