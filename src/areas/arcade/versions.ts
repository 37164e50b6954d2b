import type Koa from 'koa';
import { fail } from '#lib/errors.ts';

/** Returns the `ETag` of a version. The first version is 1; 0 means that nothing is stored. */
export const versionTag = (version: number): string => `"${version}"`;

/** Versions that `If-Match` accepts: any existing version (`*`), one of a list, or no condition (null). */
export type ExpectedVersions = '*' | readonly number[] | null;

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim());

/** Parses `If-Match`. Weak tags and tags of another format match no version. */
export function expectedVersions(ctx: Koa.Context): ExpectedVersions {
  const header = ctx.get('If-Match').trim();
  if (header === '') return null;
  if (header === '*') return '*';
  return tagsOf(header).flatMap((tag) => (/^"\d{1,9}"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));
}

/** Returns whether `If-Match` accepts a version. @param version 0 when nothing is stored */
export function matchesExpected(expected: ExpectedVersions, version: number): boolean {
  if (expected === null) return true;
  return expected === '*' ? version > 0 : expected.includes(version);
}

/** Returns the 412 error for an `If-Match` that does not match. */
export const staleVersion = () => fail(412, 'If-Match must be the present ETag');

/** Returns whether `If-None-Match` names this version, so that the response can be 304. */
export function isNotModified(ctx: Koa.Context, version: number): boolean {
  const header = ctx.get('If-None-Match').trim();
  return header === '*' ? version > 0 : tagsOf(header).some((tag) => tag.replace(/^W\//, '') === versionTag(version));
}
