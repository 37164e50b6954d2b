import type { Server, ServerResponse } from 'node:http';

/** Matches a JSON string that begins like an instant. Strings inside strings, such as a stored body of a webhook, do not match. */
const LIKE_INSTANT = /(?<!\\)"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^"\\]*)"/g;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Maximum characters of a response that are checked. */
const MAX_CHECKED = 100_000;

/**
 * Watches the bodies of all responses of a server, event streams included, for instants of another format than 2026-11-21T12:00:00.000Z.
 * @returns the violations, one line each
 */
export function watchInstants(server: Server): readonly string[] {
  const violations: string[] = [];
  server.prependListener('request', (request, response: ServerResponse) => {
    const check = (chunk: unknown): void => {
      if (typeof chunk !== 'string' && !Buffer.isBuffer(chunk)) return;
      if (!/json|event-stream/.test(String(response.getHeader('Content-Type')))) return;
      for (const [, text = ''] of String(chunk).slice(0, MAX_CHECKED).matchAll(LIKE_INSTANT))
        if (!INSTANT.test(text)) violations.push(`${request.method} ${request.url}: ${text}`);
    };
    const { write, end } = response;
    response.write = (...given: unknown[]) => {
      check(given[0]);
      return Reflect.apply(write, response, given);
    };
    response.end = (...given: unknown[]) => {
      check(given[0]);
      return Reflect.apply(end, response, given);
    };
  });
  return violations;
}
