import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import rawBody from 'raw-body';
import { fail } from '#lib/errors.ts';

/** Maximum size of a JSON body, bytes. */
export const MAX_JSON_BYTES = 256 * 1024;
/** Maximum nesting depth of a JSON body. */
const MAX_DEPTH = 64;
/** Timeout for reading a whole body, ms. The timeout of the HTTP server is longer, because it also applies to uploads. */
const READ_TIMEOUT_MS = 120_000;
/** Maximum bytes of a rejected body that are still read, so that the client receives the response. */
const MAX_DRAINED_BYTES = 4 * 1024 * 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true });
/** Matches NUL and lone surrogates as JSON.stringify escapes them, but not an escaped backslash followed by `u`. */
const UNSUPPORTED_ESCAPE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f]..)/;

const tooLarge = (maxBytes: number) => fail(413, `the body must be at most ${maxBytes} bytes`);

function rejectEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw fail(415, 'Content-Encoding must be identity');
}

/**
 * Reads a whole request body.
 * @throws 413 when the body exceeds `maxBytes`, 415 when it is compressed, 400 when it is incomplete
 */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  rejectEncoding(request);
  const tooSlow = setTimeout(() => request.destroy(), READ_TIMEOUT_MS);
  try {
    return await rawBody(request, { limit: maxBytes, length: request.headers['content-length'] ?? null });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'type' in error && error.type === 'entity.too.large';
    throw isTooLarge ? tooLarge(maxBytes) : fail(400, 'the body must be complete, but it ended early');
  } finally {
    clearTimeout(tooSlow);
  }
}

/**
 * Returns a request body as a stream. The stream fails with 413 when the body exceeds `maxBytes`, and with 400 when the client disconnects.
 * @throws 413 when `Content-Length` exceeds `maxBytes`
 */
export function boundedStream(request: IncomingMessage, maxBytes: number): Readable {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  let size = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > maxBytes) done(tooLarge(maxBytes));
      else done(null, chunk);
    },
  });
  request.on('close', () => {
    if (!request.complete) bounded.destroy(fail(400, 'the body must be complete, but it ended early'));
  });
  bounded.on('close', () => request.unpipe(bounded));
  // Without an error listener, an error of this stream would end the process. A reader of the stream gets the error, too.
  bounded.on('error', () => undefined);
  return request.pipe(bounded);
}

/** Reads and discards the rest of a rejected body. Closes the connection after `MAX_DRAINED_BYTES`. */
export function drain(request: IncomingMessage): void {
  let left = MAX_DRAINED_BYTES;
  // Detaches the request from the stream that it was piped to. That stream is closed or closing and would leave the request paused.
  request.unpipe();
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
  request.resume();
}

/** Returns whether a request has a body. */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/** Returns whether a content type is JSON. */
export const isJson = (type: string | undefined): boolean => /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type ?? '');

/**
 * Reads a JSON body of at most 256 KB. An empty body becomes `{}`.
 * @returns the parsed body and its raw bytes
 * @throws 415 for another content type, and the errors of `readBytes` and `parseJson`
 */
export async function readJson(request: IncomingMessage): Promise<{ value: unknown; bytes: Buffer }> {
  const type = request.headers['content-type'];
  const mayBeEmpty = type === undefined && request.headers['content-length'] === undefined;
  if (!isJson(type) && !mayBeEmpty) throw fail(415, 'Content-Type must be application/json');
  const bytes = await readBytes(request, MAX_JSON_BYTES);
  if (bytes.length > 0 && !isJson(type)) throw fail(415, 'Content-Type must be application/json');
  return { value: parseJson(bytes), bytes };
}

/**
 * Parses a JSON body; an empty body becomes `{}`.
 * @throws 400 when the body is not UTF-8 or not JSON, is nested deeper than `MAX_DEPTH`, or contains characters that PostgreSQL cannot store (NUL,
 * lone surrogates)
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  const text = textOf(bytes);
  if (nestingDepth(text) > MAX_DEPTH) throw fail(400, `the body must not be nested deeper than ${MAX_DEPTH}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail(400, 'the body must be valid JSON');
  }
  if (text.includes('\\u') && UNSUPPORTED_ESCAPE.test(JSON.stringify(value)))
    throw fail(400, 'the body must not hold NUL characters or lone surrogates');
  return value;
}

/**
 * Returns the text of a body, without a byte order mark.
 * @throws 400 when the body is not UTF-8
 */
export function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw fail(400, 'the body must be UTF-8');
  }
}

/** Returns the maximum nesting depth of `[` and `{` in a JSON text. Ignores brackets inside strings. */
function nestingDepth(text: string): number {
  let level = 0;
  let deepest = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (quoted) {
      if (c === 92) i++;
      else if (c === 34) quoted = false;
    } else if (c === 34) quoted = true;
    else if (c === 91 || c === 123) deepest = Math.max(deepest, ++level);
    else if (c === 93 || c === 125) level--;
  }
  return deepest;
}
