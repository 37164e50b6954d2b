import { appendFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import findMyWay from 'find-my-way';
import { METHODS, SPECIFICATION } from '#test/contract/specification.ts';

const seen = new Set<string>();
let router: findMyWay.Instance<findMyWay.HTTPVersion.V1> | undefined;

/** Returns a router of the specified endpoints. A literal path takes precedence over a parameter, as in the service. */
function specificationRouter() {
  if (router) return router;
  router = findMyWay({ maxParamLength: 512, caseSensitive: true });
  for (const { method, path, name } of SPECIFICATION) {
    router.on(method, path.replace(/\{(\w+)\}/g, ':$1'), () => undefined, { name });
  }
  return router;
}

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
      const method = METHODS.find((one) => one === request.method);
      const name = method && specificationRouter().find(method, request.url?.split('?')[0] ?? '/')?.store?.name;
      if (typeof name !== 'string' || seen.has(name)) return;
      seen.add(name);
      appendFileSync(join(folder, `${process.pid}.txt`), `${name}\n`);
    });
  });
}
