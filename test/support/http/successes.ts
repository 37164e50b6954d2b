import { appendFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { SPECIFICATION } from '#test/contract/specification.ts';

const seen = new Set<string>();

/** The specified endpoints. A path with fewer parameters comes first, because a literal path takes precedence over a parameter. */
const endpoints = SPECIFICATION.map(({ method, path, name }) => ({
  ...{ method, name, parameters: path.split('{').length },
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
})).sort((a, b) => a.parameters - b.parameters);

/**
 * Records which endpoints of the specification a server has answered with success: one line per endpoint in a file of the folder `TEST_SUCCESSES`. After a run
 * of all tests, `test/contract/succeeded.ts` compares the files with the specification. Does nothing without the variable.
 */
export function recordSuccesses(server: Server): void {
  const folder = process.env.TEST_SUCCESSES;
  if (!folder) return;
  server.on('request', (request, response) => {
    response.on('close', () => {
      // 202 is not a success yet, because the work continues.
      if (![200, 201, 204].includes(response.statusCode) || !response.headersSent) return;
      const path = request.url?.split('?')[0] ?? '/';
      const name = endpoints.find((one) => one.method === request.method && one.pattern.test(path))?.name;
      if (name === undefined || seen.has(name)) return;
      seen.add(name);
      appendFileSync(join(folder, `${process.pid}.txt`), `${name}\n`);
    });
  });
}
