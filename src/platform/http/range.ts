import type Koa from 'koa';

/** Bytes from `start` to `end`, both inclusive. */
interface Bytes {
  readonly start: number;
  readonly end: number;
}

/**
 * Which part of something a GET asks for (RFC 9110, 14). What is not understood, several parts at once, and a part of another version than
 * `etag` names are answered with all of it.
 * @param size of all of it, bytes; at least 1
 * @returns the part; `all`; `none` where the part lies outside
 */
export function rangeOf(ctx: Koa.Context, etag: string, size: number): Bytes | 'all' | 'none' {
  const { range, 'if-range': version } = ctx.headers;
  if (ctx.method !== 'GET' || range === undefined || (version !== undefined && version !== etag)) return 'all';
  const [, first, last] = /^bytes *= *(\d*) *- *(\d*) *$/i.exec(range) ?? [];
  if (first === undefined || last === undefined || first + last === '') return 'all';
  if (first === '') return Number(last) > 0 ? { start: Math.max(0, size - Number(last)), end: size - 1 } : 'none';
  const [start, end] = [Number(first), last === '' ? size - 1 : Number(last)];
  if (end < start && last !== '') return 'all';
  return start < size ? { start, end: Math.min(end, size - 1) } : 'none';
}
