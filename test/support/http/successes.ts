import { appendFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import findMyWay from 'find-my-way';
import { METHODS, SPECIFICATION } from '#test/contract/specification.ts';

const seen = new Set<string>();
let router: findMyWay.Instance<findMyWay.HTTPVersion.V1> | undefined;

/** Finds endpoints as the service does: a literal path wins over a parameter. */
function routerOfPromised() {
  if (router) return router;
  router = findMyWay({ maxParamLength: 512, caseSensitive: true });
  for (const { method, path, name } of SPECIFICATION) {
    router.on(method, path.replace(/\{(\w+)\}/g, ':$1'), () => undefined, { name });
  }
  return router;
}

/**
 * Notes which of the promised endpoints a server does what it is asked to: one line for each in a file of the folder `TEST_SUCCESSES`,
 * which a whole run of the tests compares with the specification (`test/contract/succeeded.ts`). Without the folder, nothing.
 */
export function noteSuccesses(server: Server): void {
  const folder = process.env.TEST_SUCCESSES;
  if (!folder) return;
  server.on('request', (request, response) => {
    response.on('close', () => {
      // What goes on (202) has not succeeded yet.
      if (![200, 201, 204].includes(response.statusCode) || !response.headersSent) return;
      const method = METHODS.find((one) => one === request.method);
      const name = method && routerOfPromised().find(method, request.url?.split('?')[0] ?? '/')?.store?.name;
      if (typeof name !== 'string' || seen.has(name)) return;
      seen.add(name);
      appendFileSync(join(folder, `${process.pid}.txt`), `${name}\n`);
    });
  });
}
