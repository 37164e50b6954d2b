import type Koa from 'koa';
import { fail } from '#lib/errors.ts';

/** The `ETag` of something that has versions: 1 for the first, 0 while there is none. */
export const versionTag = (version: number): string => `"${version}"`;

/** What `If-Match` demands: any version (`*`), one of these, or nothing (null). */
export type Expected = '*' | readonly number[] | null;

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim());

/** Reads `If-Match`. Weak and foreign tags match nothing. */
export function expectedVersions(ctx: Koa.Context): Expected {
  const header = ctx.get('If-Match').trim();
  if (header === '') return null;
  if (header === '*') return '*';
  return tagsOf(header).flatMap((tag) => (/^"\d{1,9}"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));
}

/** Whether a version (0 = there is none) is one that `If-Match` takes. */
export function isExpected(expected: Expected, version: number): boolean {
  if (expected === null) return true;
  return expected === '*' ? version > 0 : expected.includes(version);
}

/** The refusal of a stale `If-Match`. */
export const stale = () => fail(412, 'If-Match must be the present ETag');

/** Whether `If-None-Match` says that the caller has this version already. */
export function alreadyHas(ctx: Koa.Context, version: number): boolean {
  const header = ctx.get('If-None-Match').trim();
  return header === '*' ? version > 0 : tagsOf(header).some((tag) => tag.replace(/^W\//, '') === versionTag(version));
}
