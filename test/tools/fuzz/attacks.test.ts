import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { openServer } from '#platform/http/server.ts';
import { sendRaw } from '#test/support/http/framework.ts';
import { bombs, forms, hugeHeads, manyStreams, silentConnections, socketFloods } from '#tools/fuzz/attacks.ts';
import { type Document, readDocument } from '#tools/fuzz/document.ts';
import { longBodies, longQueries, slowPatterns } from '#tools/fuzz/stalls.ts';
import { type OwnTarget, startTarget } from '#tools/fuzz/target.ts';

describe('a service under attack goes on answering others, and has not grown', () => {
  let target: OwnTarget;
  let document: Document;
  beforeAll(async () => {
    target = await startTarget();
    document = await readDocument(target.url);
  });
  afterAll(() => target?.close());

  test(
    '2,000 connections that say nothing, stop in the middle, or never read',
    async () => expect(await silentConnections(target, 2_000)).toEqual([]),
    120_000,
  );
  test('1,000 streams of events that nobody reads', async () => expect(await manyStreams(target, 1_000)).toEqual([]), 120_000);
  test('heads that are too large', async () => expect(await hugeHeads(target)).toEqual([]));
  test('imports that unpack to far more than they are', async () => expect(await bombs(target, 300)).toEqual([]), 240_000);
  test('WebSockets that send too much, too often, and too many of them', async () => expect(await socketFloods(target, 1_000)).toEqual([]), 120_000);
  test('forms that are made to be expensive', async () => expect(await forms(target)).toEqual([]), 120_000);
  test('queries as long as a head may be', async () => expect(await longQueries(document, target)).toEqual([]), 120_000);
  test('bodies as large as they may be, in which everything is as long as it can be', async () => {
    expect(await longBodies(document, target, 3)).toEqual([]);
  }, 240_000);
  test('text that patterns nearly match', () => expect(slowPatterns(document)).toEqual([]), 60_000);
  test('nothing of it was an error of the service’s', () => {
    expect(target.lines.filter((line) => /"level":"(?:error|fatal)"|^[^{]/.test(line))).toEqual([]);
  });
});

describe('a client that is slow, or speaks no HTTP, is told so and let go', () => {
  const koa = new Koa();
  koa.use(async (ctx) => {
    for await (const _ of ctx.req);
    ctx.body = ctx.path === '/large' ? Buffer.alloc(64 * 1024 * 1024) : { url: ctx.url };
  });
  koa.silent = true;
  const server = openServer(koa, { headMs: 400, requestMs: 1_200, idleMs: 400, stillMs: 1_500, checkMs: 50 });
  let port: number;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Sends the beginning at once and then byte by byte until the connection ends. @returns what was answered */
  function drip(byte: string, beginning: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(beginning));
      let answer = '';
      const dripping = setInterval(() => socket.writable && socket.write(byte), 20);
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(dripping);
        resolve(answer);
      });
    });
  }
  const TOO_SLOW = /^HTTP\/1\.1 408 .*\{"error":"the request must arrive in time"\}$/s;

  test('a head that comes byte by byte', async () => {
    expect(await drip('a', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')).toMatch(TOO_SLOW);
  });

  test('a body that comes byte by byte', async () => {
    expect(await drip('a', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')).toMatch(TOO_SLOW);
  });

  test('a connection on which nothing is said', async () => {
    const socket = connect(port, '127.0.0.1');
    const said: string[] = [];
    socket.on('data', (chunk) => said.push(String(chunk)));
    await new Promise((resolve) => socket.on('close', resolve));
    expect(said.join('')).toMatch(TOO_SLOW);
  });

  test('a connection that is kept and not used', async () => {
    const answer = await sendRaw(port, 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n', /never/);
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*\{"url":"\/one"\}$/s);
  });

  test('a client that asks for much and reads nothing', async () => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'));
    const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    await new Promise((resolve) => server.once('connection', resolve));
    // Without a reader the socket does not notice its end: the server does.
    while ((await open()) > 0) await sleep(50);
    socket.destroy();
  });

  test.each([
    ['no HTTP', 'rubbish\r\n\r\n', 400, 'the request must be valid HTTP/1.1'],
    ['a version that is none', 'GET / HTTP/1.7\r\nHost: x\r\n\r\n', 400, 'the request must be valid HTTP/1.1'],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'the request must be valid HTTP/1.1',
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde', 400, 'the request must be valid HTTP/1.1'],
    [
      'an encoding over chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
      400,
      'the request must be valid HTTP/1.1',
    ],
    ['chunks that are none', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400, 'the request must be valid HTTP/1.1'],
    ['line feeds alone', 'GET / HTTP/1.1\nHost: x\n\n', 400, 'the request must be valid HTTP/1.1'],
    ['a header with a NUL', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n', 400, 'the request must be valid HTTP/1.1'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, 'Host is required'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n', 400, 'Host must be given once'],
    ['the same host twice', 'GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n', 400, 'Host must be given once'],
    ['a URL that is none', 'GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'the request target must be a path or a URL'],
    ['a URL of another kind', 'GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'the request target must be a path or a URL'],
    ['a large head', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`, 431, 'the request line and the headers must be at most 16 KB'],
    ['a miracle', 'POST / HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nContent-Length: 0\r\n\r\n', 417, 'Expect must be 100-continue'],
  ])('%s', async (_what, bytes, status, error) => {
    const answer = await sendRaw(port, Buffer.from(bytes, 'latin1'), /\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n.*X-Content-Type-Options: nosniff\r\n/s);
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(JSON.stringify({ error }));
  });

  test('a URL of ours as the target is a path', async () => {
    const answer = await sendRaw(port, 'GET http://elsewhere.example/here?a=b HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(answer).toMatch(/\{"url":"\/here\?a=b"\}$/);
  });

  test('nothing is written into an answer that has begun', async () => {
    const answer = await sendRaw(port, 'GET /one HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n', /never/);
    expect(answer.match(/HTTP\/1\.1 \d+/g)?.[0]).toMatch(/HTTP\/1\.1 (?:200|400)/);
    for (const part of answer.split(/(?=HTTP\/1\.1 )/)) {
      const length = Number(/Content-Length: (\d+)/i.exec(part)?.[1]);
      expect(part.slice(part.indexOf('\r\n\r\n') + 4)).toHaveLength(length);
    }
  });
});
