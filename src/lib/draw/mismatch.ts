import type { z } from 'zod';

/** A difference between an input and its expected value: the path of the value (for example `winners[0].prize.amount`) and the reason. */
export interface Mismatch {
  readonly where: string;
  readonly reason: string;
}

/** Converts a schema error to a mismatch: the path and message of the error's first issue. */
export function shapeMismatch(error: z.ZodError, root: string): Mismatch {
  const issue = error.issues[0];
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown].reduce<string>((left, key) => step(left, key), root);
  return { where: path === '' ? 'audit' : path, reason: issue?.message ?? 'does not match the schema' };
}

const step = (path: string, key: PropertyKey): string =>
  typeof key === 'number' ? `${path}[${key}]` : path === '' ? String(key) : `${path}.${String(key)}`;

/** Returns the first difference between two values of JSON documents, or null. The numbers 0 and -0 are equal, because their canonical JSON is equal. */
export function firstDifference(expected: unknown, found: unknown, path: string): Mismatch | null {
  if (expected === found) return null;
  const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;
  if (!isBranch(expected) || !isBranch(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return { where: path, reason: `is ${short(found)}, but must be ${short(expected)}` };
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const name = Array.isArray(expected) ? Number(key) : key;
    const difference = firstDifference(Reflect.get(expected, key), Reflect.get(found, key), step(path, name));
    if (difference !== null) return difference;
  }
  return null;
}

const MAX_SHOWN_CHARACTERS = 200;
const short = (value: unknown): string => (JSON.stringify(value) ?? 'missing').slice(0, MAX_SHOWN_CHARACTERS);
