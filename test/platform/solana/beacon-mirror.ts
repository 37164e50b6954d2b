import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The response of the mirror: a fixed one, a changed copy of the honest mirror's response, or a fault. */
export type MirrorResponse =
  | { readonly status?: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly change: (body: Record<string, unknown>, path: string) => object | Promise<object> }
  /** Forwards the honest mirror's response. */
  | 'honest'
  /** Closes the connection; never answers; never ends the response; sends an endless body; redirects to the honest mirror. */
  | 'drops'
  | 'hangs'
  | 'stalls'
  | 'floods'
  | 'redirects';

/** A beacon mirror with configurable faults. */
export interface FaultyMirror {
  readonly url: string;
  readonly host: string;
  /** Paths of all requests, in order. */
  readonly requestedPaths: readonly string[];
  /** Sets the response to all later requests. */
  setResponse(response: MirrorResponse): void;
  close(): Promise<void>;
}

/** @param honest URL of the honest mirror */
export async function startFaultyMirror(honest: string): Promise<FaultyMirror> {
  const requestedPaths: string[] = [];
  let current: MirrorResponse = 'honest';
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    requestedPaths.push(path);
    respond(response, current, honest, path).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    requestedPaths,
    setResponse: (next) => {
      current = next;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(response: ServerResponse, answer: MirrorResponse, honest: string, path: string): Promise<void> {
  const json = { 'Content-Type': 'application/json' };
  switch (answer) {
    case 'drops':
      response.destroy();
      return;
    case 'hangs':
      return;
    case 'stalls':
      response.writeHead(200, json).write('{"round":');
      return;
    case 'floods':
      response.writeHead(200, json).write('{"round":1,"more":"');
      writeEndlessly(response);
      return;
    case 'redirects':
      response.writeHead(302, { Location: `${honest}${path}` }).end();
      return;
    case 'honest': {
      const other = await fetch(`${honest}${path}`);
      response.writeHead(other.status, json).end(await other.text());
      return;
    }
    default:
      if ('body' in answer) {
        response.writeHead(answer.status ?? 200, { ...json, ...answer.headers }).end(answer.body);
        return;
      }
      response.writeHead(200, json).end(JSON.stringify(await answer.change(await recordAt(`${honest}${path}`), path)));
  }
}

async function recordAt(url: string): Promise<Record<string, unknown>> {
  const body: unknown = await (await fetch(url)).json();
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

/** Writes until the client closes the connection. */
function writeEndlessly(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write('x'.repeat(65_536))) setImmediate(writeEndlessly, response);
  else response.once('drain', () => writeEndlessly(response));
}
