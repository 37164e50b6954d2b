import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { ProcessOutput } from '#dev/stack/logs.ts';
import { ApiSlot } from '#dev/stack/process-slot.ts';

/** A process that listens and logs its port as the API does. */
const API = `import { createServer } from 'node:http';
const server = createServer((_request, response) => response.end('ok'));
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(JSON.stringify({ level: 'info', address: server.address(), msg: 'api is ready' })));
`;

const folder = mkdtempSync(join(tmpdir(), 'coinop-api-'));
const script = (name: string, text: string) => {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, text);
  return new ApiSlot({
    name,
    command: process.execPath,
    args: [file],
    cwd: folder,
    env: { PATH: process.env.PATH },
    output: new ProcessOutput(4, 'silent'),
  });
};
const slots: ApiSlot[] = [];
afterEach(async () => {
  for (const slot of slots.splice(0)) await slot.kill();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('API processes bind free ports themselves, and a restarted process has the port that it had before', async () => {
  const both = [script('one', API), script('two', API)];
  slots.push(...both);
  await Promise.all(both.map((slot) => slot.start()));
  const ports = both.map(({ port }) => port);
  expect(new Set(ports).size).toBe(2);
  await both[0]?.kill();
  await both[0]?.start();
  expect(both.map(({ port }) => port)).toEqual(ports);
});

test('a restart waits until another process has left the port', async () => {
  const slot = script('three', API);
  slots.push(slot);
  await slot.start();
  await slot.kill();
  const other = createServer();
  other.listen(slot.port, '127.0.0.1');
  await once(other, 'listening');
  const started = slot.start();
  setTimeout(() => other.close(), 700);
  await started;
  expect(await (await fetch(`http://127.0.0.1:${slot.port}`)).text()).toBe('ok');
});

test('the start of a process that ends before it listens fails with its exit code', async () => {
  const slot = script('four', 'process.exit(3);');
  await expect(slot.start()).rejects.toThrow('four exited with code 3 before it was ready');
});
