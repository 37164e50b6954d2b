import { Agent, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { closeServer, openServer } from '#platform/http/server.ts';

test('a server closes at once although a client sends requests over its connections without a pause', async () => {
  const server = openServer(
    new Koa().use(async (ctx) => {
      await sleep(20);
      ctx.body = 'served';
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  let responses = 0;
  // Each request begins as soon as the response to the one before has arrived, so the connection is never idle.
  const flood = () =>
    new Promise<boolean>((resolve) => {
      get({ agent, port, host: '127.0.0.1' }, (response) => response.resume().on('end', () => resolve(true))).on('error', () => resolve(false));
    });
  const connection = async () => {
    while (await flood()) responses++;
  };
  const flooding = Promise.all(Array.from({ length: 20 }, connection));
  while (responses < 100) await new Promise(setImmediate);

  const began = performance.now();
  await closeServer(server, 4_000);
  expect(performance.now() - began).toBeLessThan(2_000);
  await flooding;
  agent.destroy();
});
