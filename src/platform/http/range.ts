import type Koa from 'koa';

/** A byte range. The offsets `start` and `end` are inclusive. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses the `Range` header of a GET request (RFC 9110, section 14). The range is ignored when the header is invalid or has several ranges, or when
 * `If-Range` has another ETag.
 * @param etag the ETag of the content
 * @param size the number of bytes of the content; at least 1
 * @returns the range, `all` for the whole content, or `none` when the range is outside the content
 */
export function requestedRange(ctx: Koa.Context, etag: string, size: number): ByteRange | 'all' | 'none' {
  const { range, 'if-range': version } = ctx.headers;
  if (ctx.method !== 'GET' || range === undefined || (version !== undefined && version !== etag)) return 'all';
  const [, first, last] = /^bytes *= *(\d*) *- *(\d*) *$/i.exec(range) ?? [];
  if (first === undefined || last === undefined || first + last === '') return 'all';
  if (first === '') return Number(last) > 0 ? { start: Math.max(0, size - Number(last)), end: size - 1 } : 'none';
  const [start, end] = [Number(first), last === '' ? size - 1 : Number(last)];
  if (end < start && last !== '') return 'all';
  return start < size ? { start, end: Math.min(end, size - 1) } : 'none';
}
