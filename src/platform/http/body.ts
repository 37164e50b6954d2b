import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import rawBody from 'raw-body';
import { fail } from '#lib/errors.ts';

/** JSON bodies are at most this large, bytes. */
export const MAX_JSON_BYTES = 256 * 1024;
const MAX_DEPTH = 64;
/** How long a body that is read whole may take, ms; the server's own limit is that of uploads. */
const READ_MS = 120_000;
/** How much of a refused body is still read, so that its sender gets to see the answer, bytes. */
const MAX_DRAINED_BYTES = 4 * 1024 * 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true });
/** NUL or half of a surrogate pair, as JSON.stringify writes them; an escaped backslash before `u` is only text. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f]..)/;

const tooLarge = (maxBytes: number) => fail(413, `the body must be at most ${maxBytes} bytes`);

function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw fail(415, 'Content-Encoding must be identity');
}

/** Reads a body to its end. @throws 413 past `maxBytes`, 415 when compressed, 400 when cut off */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  refuseEncoding(request);
  const tooSlow = setTimeout(() => request.destroy(), READ_MS);
  try {
    return await rawBody(request, { limit: maxBytes, length: request.headers['content-length'] ?? null });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'type' in error && error.type === 'entity.too.large';
    throw isTooLarge ? tooLarge(maxBytes) : fail(400, 'the body ended before its announced length');
  } finally {
    clearTimeout(tooSlow);
  }
}

/**
 * A body to be read as it arrives. Past `maxBytes` it fails with 413, when its sender goes away with 400.
 * @throws 413 when a larger body is announced
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
    if (!request.complete) bounded.destroy(fail(400, 'the body ended before its announced length'));
  });
  bounded.on('close', () => request.unpipe(bounded));
  // Whoever reads it sees the error; one that nobody reads must not end the process.
  bounded.on('error', () => undefined);
  return request.pipe(bounded);
}

/** Reads away what is left of a refused body. A sender that never stops is cut off. */
export function drain(request: IncomingMessage): void {
  let left = MAX_DRAINED_BYTES;
  // Whoever it was piped to is gone or about to be, and would leave it paused.
  request.unpipe();
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
  request.resume();
}

/** Whether a request brings a body at all. */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/** Whether a content type is JSON. */
export const isJson = (type: string | undefined): boolean => /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type ?? '');

/**
 * Reads a JSON body of at most 256 KB; what brings no bytes is `{}`, whatever its type.
 * @throws 415 for another content type, and what `readBytes` and `parseJson` throw
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
 * JSON text to a value; empty text is `{}`.
 * @throws 400 for what is not JSON, is nested deeper than 64, or holds what PostgreSQL cannot store (NUL, lone surrogates)
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw fail(400, 'the body must be UTF-8');
  }
  if (depth(text) > MAX_DEPTH) throw fail(400, `the body must not be nested deeper than ${MAX_DEPTH}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail(400, 'the body must be valid JSON');
  }
  if (text.includes('\\u') && UNSTORABLE.test(JSON.stringify(value))) throw fail(400, 'the body must not hold NUL characters or lone surrogates');
  return value;
}

/** How deep brackets nest, outside strings. */
function depth(text: string): number {
  let now = 0;
  let most = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (quoted) {
      if (c === 92) i++;
      else if (c === 34) quoted = false;
    } else if (c === 34) quoted = true;
    else if (c === 91 || c === 123) most = Math.max(most, ++now);
    else if (c === 93 || c === 125) now--;
  }
  return most;
}
