import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { notification } from '#areas/social/events.ts';
import { append, eventStreamKey, readTail } from '#platform/events/redis-stream.ts';
import { streamsOf } from '#platform/events/sse.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sendRaw } from '#test/support/http/framework.ts';
import { openEvents } from '#test/support/http/sse.ts';

let t: TestApp;
let port: number;

beforeAll(async () => {
  t = await startTestApp();
  port = Number(new URL(t.url).port);
  // Turns heartbeats off, so that each event must arrive without one.
  streamsOf(t.app).setTimes({ heartbeatMs: 600_000 });
});
afterAll(() => t.close());

const notify = (text: string) => t.app.tx(async (tx) => tx.emit(notification, { text }));
const request = (path: string, version = '1.1') => `GET ${path} HTTP/${version}\r\nHost: coinop.test\r\n\r\n`;

/** Opens a client that reads raw bytes: `text` returns the received bytes, `isOpen` whether the server can still send. */
async function listen(bytes: string): Promise<{ socket: Socket; text(): string; isOpen(): boolean; until(pattern: RegExp): Promise<void> }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  let isOpen = true;
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  for (const end of ['end', 'error']) socket.on(end, () => (isOpen = false));
  socket.write(bytes);
  const until = async (pattern: RegExp) => {
    while (isOpen && !pattern.test(text)) await sleep(5);
    expect(text).toMatch(pattern);
  };
  await until(/\n: live\n/);
  return { socket, text: () => text, isOpen: () => isOpen, until };
}

test('a client that reconnects after disconnects by either side sees every event once and in order', async () => {
  const other = await startApi(t.env, t.clock);
  streamsOf(other.app).setTimes({ heartbeatMs: 20, rotateMs: 150 });
  const texts = Array.from({ length: 120 }, (_, i) => `${i}`);
  const follow = async () => {
    const seen: unknown[] = [];
    let client = await openEvents(t);
    await client.until('the stream', () => client.lastEventId !== '');
    const rest = async () => {
      while (seen.length < texts.length) {
        await Promise.race([client.ended, sleep(200 * Math.random())]);
        client.close();
        seen.push(...client.values('text'));
        client = await client.reconnect({ url: `${Math.random() < 0.5 ? t.url : other.url}/events` });
      }
      client.close();
      return seen;
    };
    return { rest };
  };
  try {
    const followers = await Promise.all(Array.from({ length: 20 }, follow));
    const all = followers.map((follower) => follower.rest());
    for (const text of texts) await notify(text);
    for (const seen of await Promise.all(all)) expect(seen).toEqual(texts);
  } finally {
    await other.close();
  }
}, 60_000);

test('each of 500 subscribers sees every event once and in order, including events that arrive during a broadcast', async () => {
  const clients = [];
  for (let i = 0; i < 10; i++) clients.push(...(await Promise.all(Array.from({ length: 50 }, () => listen(request('/events?categories=system'))))));
  const texts = Array.from({ length: 100 }, (_, i) => `many ${i}`);
  const key = eventStreamKey(t.app.config);
  for (const text of texts) {
    // Appends faster than a publisher, so that several events arrive during one broadcast.
    const tail = await readTail(t.app.redis, key);
    if (tail === null) throw new Error('the event stream does not exist');
    const data = JSON.stringify({ type: 'notification', category: 'system', text });
    await append(t.app.redis, key, tail, [
      { id: `${tail.publication}-${tail.seq + 1}`, type: 'notification', category: 'system', wallet: '', data, own: '' },
    ]);
  }
  for (const client of clients) {
    await client.until(/"many 99"/);
    expect([...client.text().matchAll(/"text":"(many \d+)"/g)].map(([, text]) => text)).toEqual(texts);
    client.socket.destroy();
  }
}, 60_000);

test.each(['1.0', '1.1'])('an HTTP/%s response has the messages as its raw body, which ends with the connection', async (version) => {
  const client = await listen(request('/events?categories=system', version));
  await notify('hello');
  await client.until(/"text":"hello".*\n\n/);
  const [head = '', body = ''] = client.text().split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(head).toMatch(/^Connection: close$/im);
  expect(head).not.toMatch(/^(transfer-encoding|content-length):/im);
  expect(body).toMatch(/^retry: \d+\n: live\n\nid: /);
  client.socket.destroy();
});

test('an open stream does not keep its request and response objects in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const kept: WeakRef<object>[] = [];
  const note = (message: unknown) => {
    const { request, response } = message as { request: object; response: object };
    kept.push(new WeakRef(request), new WeakRef(response));
  };
  subscribe('http.server.request.start', note);
  const clients = await Promise.all(Array.from({ length: 20 }, () => listen(request('/events'))));
  unsubscribe('http.server.request.start', note);
  expect(kept).toHaveLength(40);
  for (let left = kept; left.length > 0; left = left.filter((one) => one.deref())) {
    collect();
    await sleep(10);
  }
  await notify('still there');
  for (const client of clients) {
    await client.until(/still there/);
    client.socket.destroy();
  }
});

test('bytes that a client sends after its request get no response and do not disturb its stream', async () => {
  const client = await listen(request('/events'));
  client.socket.write(`${request('/healthz')}${'x'.repeat(100_000)}`);
  await notify('undisturbed');
  await client.until(/undisturbed/);
  expect(client.text()).not.toContain('"status"');
  client.socket.destroy();
});

test('pipelined requests on one connection never mix a stream with other responses', async () => {
  const after = await sendRaw(port, request('/events') + request('/healthz'));
  expect(after).not.toContain('"status"');
  const before = await sendRaw(port, request('/healthz') + request('/events'), /never/);
  expect(before).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\n\{"status":"ok"\}$/s);
  await notify('the process lives');
});

test('a stream ends when its client closes its side of the connection', async () => {
  const client = await listen(request('/events'));
  const { size } = streamsOf(t.app);
  client.socket.end();
  while (client.isOpen()) await sleep(5);
  while (streamsOf(t.app).size >= size) await sleep(5);
});

test('a subscriber whose socket throws is dropped, and other subscribers are not delayed', async () => {
  const sockets: Socket[] = [];
  const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  subscribe('http.server.request.start', note);
  const broken = await listen(request('/events'));
  unsubscribe('http.server.request.start', note);
  const other = await listen(request('/events'));
  for (const socket of sockets) {
    socket.write = () => {
      throw new Error('this socket cannot be written');
    };
  }
  await notify('for the others');
  await other.until(/for the others/);
  while (broken.isOpen()) await sleep(5);
  expect(broken.text()).not.toContain('for the others');
  await notify('and what comes after');
  await other.until(/and what comes after/);
  other.socket.destroy();
});
