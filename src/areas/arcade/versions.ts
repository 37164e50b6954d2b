import type Koa from 'koa';
import { fail } from '#lib/errors.ts';

/** Returns the `ETag` of a version. The first version is 1; 0 means that nothing is stored. */
export const versionTag = (version: number): string => `"${version}"`;

/** Condition of `If-Match`. `*`: any stored version. A list: one of these versions. null: the request has no condition. */
export type ExpectedVersions = '*' | readonly number[] | null;

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim());

/** Parses the header `If-Match`. Weak tags and tags of an unknown format match no version. */
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

/** Returns the 412 error for a request whose `If-Match` does not match the stored version. */
export const staleVersion = () => fail(412, 'If-Match must be the current ETag');

/** Returns whether `If-None-Match` names this version, so that the response can be 304. */
export function isNotModified(ctx: Koa.Context, version: number): boolean {
  const header = ctx.get('If-None-Match').trim();
  return header === '*' ? version > 0 : tagsOf(header).some((tag) => tag.replace(/^W\//, '') === versionTag(version));
}
