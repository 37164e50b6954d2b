import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a mirror answers: like this; as another one does, with some changes; or not as it should. */
export type MirrorAnswer =
  | { readonly status?: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly change: (answer: Record<string, unknown>, path: string) => object | Promise<object> }
  /** Passes on what the other one says, however it changes. */
  | 'honest'
  /** Closes the connection; says nothing; begins and never ends; says much more than a round; sends the caller to the other one. */
  | 'drops'
  | 'hangs'
  | 'stalls'
  | 'floods'
  | 'redirects';

/** A mirror of a beacon that does not deserve to be one. */
export interface Mirror {
  readonly url: string;
  readonly host: string;
  /** The paths that it was asked for. */
  readonly asked: readonly string[];
  /** From now on it answers like this. */
  answer(answer: MirrorAnswer): void;
  close(): Promise<void>;
}

/** @param honest the address of a mirror that can be believed */
export async function startMirror(honest: string): Promise<Mirror> {
  const asked: string[] = [];
  let present: MirrorAnswer = 'honest';
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    give(response, present, honest, path).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    asked,
    answer: (answer) => {
      present = answer;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function give(response: ServerResponse, answer: MirrorAnswer, honest: string, path: string): Promise<void> {
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
      pour(response);
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

/** Writes until the reader goes away. */
function pour(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write('x'.repeat(65_536))) setImmediate(pour, response);
  else response.once('drain', () => pour(response));
}
