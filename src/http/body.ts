import type { IncomingMessage } from 'node:http';
import rawBody from 'raw-body';
import { fail } from '../lib/errors.ts';

/** JSON bodies are at most this large, bytes. */
export const MAX_JSON_BYTES = 256 * 1024;
const MAX_DEPTH = 64;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a body to its end. @throws 413 past `maxBytes`, 415 when compressed, 400 when cut off */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw fail(415, 'Content-Encoding must be identity');
  try {
    return await rawBody(request, { limit: maxBytes, length: request.headers['content-length'] ?? null });
  } catch (error) {
    const tooLarge = error instanceof Error && 'type' in error && error.type === 'entity.too.large';
    throw tooLarge ? fail(413, `the body must be at most ${maxBytes} bytes`) : fail(400, 'the body ended before its announced length');
  }
}

/** Whether a request brings a body at all. */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/** Whether a content type is JSON. */
export const isJson = (type: string | undefined): boolean => /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type ?? '');

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
  try {
    const value: unknown = JSON.parse(text);
    if (text.includes('\\u') && /\\u(?:0000|d[89a-f]..)/i.test(JSON.stringify(value))) {
      throw fail(400, 'the body must not hold NUL characters or lone surrogates');
    }
    return value;
  } catch (error) {
    if (error instanceof SyntaxError) throw fail(400, 'the body must be valid JSON');
    throw error;
  }
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
