import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { queryMirrors } from '#platform/solana/beacon/mirrors.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Starts a mirror. @returns its URL and the number of requests that it got and that the client ended early */
async function startMirror(answer: RequestListener) {
  const requests = { begun: 0, aborted: 0 };
  const server = createServer((request, response) => {
    requests.begun++;
    response.on('close', () => {
      if (!response.writableFinished) requests.aborted++;
    });
    answer(request, response);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Returns a JSON text of `bytes` bytes. */
const textOf = (bytes: number) => `"${'a'.repeat(bytes - 2)}"`;
const hang: RequestListener = () => {};
const read = (body: unknown) => String(body).length;
const LONG = { timeoutMs: 20_000, hedgeAfterMs: 20_000 };

test('a mirror’s response may have 4,096 bytes and not more', async () => {
  const [full, large] = [
    await startMirror((_, response) => response.end(textOf(4_096))),
    await startMirror((_, response) => response.end(textOf(4_097))),
  ];
  expect(await queryMirrors([full.url], 'x', LONG, read)).toEqual({ answer: 4_094, faults: [] });
  expect(await queryMirrors([large.url], 'x', LONG, read)).toMatchObject({ answer: null, faults: [{ fault: 'the response exceeds 4096 bytes' }] });
});

test('after the first valid answer, the requests to other mirrors are aborted and no further mirror is queried', async () => {
  const [slow, good, unused] = [await startMirror(hang), await startMirror((_, response) => response.end('"good"')), await startMirror(hang)];
  const hedged = { timeoutMs: 20_000, hedgeAfterMs: 100 };
  expect(await queryMirrors([slow.url, good.url, unused.url], 'x', hedged, read)).toEqual({ answer: 4, faults: [] });
  await sleep(400);
  expect([slow.requests, good.requests.begun, unused.requests.begun]).toEqual([{ begun: 1, aborted: 1 }, 1, 0]);
});

test('after a mirror failed, the mirror after the next one is queried only when the next one has had its full time', async () => {
  const failing = await startMirror(async (_, response) => {
    await sleep(500);
    response.writeHead(500).end();
  });
  const [next, last] = [await startMirror(hang), await startMirror((_, response) => response.end('"last"'))];
  const began = performance.now();
  expect(await queryMirrors([failing.url, next.url, last.url], 'x', { timeoutMs: 20_000, hedgeAfterMs: 1_000 }, read)).toMatchObject({ answer: 4 });
  // The first mirror fails after 0.5 s, and the second one has 1 s.
  expect(performance.now() - began).toBeGreaterThan(1_450);
});
