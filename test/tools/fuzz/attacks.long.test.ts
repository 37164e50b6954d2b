import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { openServer } from '#platform/http/server.ts';
import { sendRaw } from '#test/support/http/framework.ts';
import { bombs, forms, hugeHeads, manyStreams, silentConnections, socketFloods } from '#tools/fuzz/attacks.ts';
import { type Document, readDocument } from '#tools/fuzz/document.ts';
import { START_FINDINGS } from '#tools/fuzz/expectations.ts';
import { longBodies, longQueries, slowPatterns } from '#tools/fuzz/slow-inputs.ts';
import { type OwnTarget, startTarget } from '#tools/fuzz/target.ts';

describe('a service under attack answers other clients, and its memory does not grow', () => {
  let target: OwnTarget;
  let document: Document;
  beforeAll(async () => {
    target = await startTarget();
    document = await readDocument(target.url);
  });
  afterAll(() => target?.close());

  test(
    '2,000 connections that send nothing, stop within a request, or never read',
    async () => expect(await silentConnections(target, 2_000)).toEqual([]),
    120_000,
  );
  test('1,000 event streams whose clients do not read', async () => expect(await manyStreams(target, 1_000)).toEqual([]), 120_000);
  test('request heads that are too large', async () => expect(await hugeHeads(target)).toEqual([]));
  test('imports that decompress to a much larger size', async () => expect(await bombs(target, 120)).toEqual([]), 240_000);
  test(
    'WebSockets that send too much or too often, and too many WebSockets',
    async () => expect(await socketFloods(target, 1_000)).toEqual([]),
    120_000,
  );
  test('forms that are expensive to parse', async () => expect(await forms(target)).toEqual([]), 120_000);
  test('queries of maximum length', async () => expect(await longQueries(document, target)).toEqual([]), 120_000);
  test('bodies of maximum size with the longest possible texts and lists', async () => {
    expect(await longBodies(document, target, 3)).toEqual([]);
  }, 240_000);
  test('long text that nearly matches the patterns of the document', () => expect(slowPatterns(document)).toEqual([]), 60_000);
  test('the service logged no errors during the attacks', () => {
    const logged = target.lines.filter((line) => !START_FINDINGS.test(line));
    expect(logged.filter((line) => /"level":"(?:error|fatal)"|^[^{]/.test(line))).toEqual([]);
  });
});

describe('a slow client or one that does not speak HTTP gets an error and is disconnected', () => {
  const koa = new Koa();
  koa.use(async (ctx) => {
    for await (const _ of ctx.req);
    ctx.body = ctx.path === '/large' ? Buffer.alloc(64 * 1024 * 1024) : { url: ctx.url };
  });
  koa.silent = true;
  const server = openServer(koa, { headersMs: 400, requestMs: 1_200, keepAliveMs: 400, inactivityMs: 1_500, checkMs: 50 });
  let port: number;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Sends the beginning at once, then byte by byte until the connection ends. @returns the response */
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
  const TOO_SLOW = /^HTTP\/1\.1 408 .*\{"error":"the request must arrive within the timeouts of the server"\}$/s;

  test('a request head sent byte by byte', async () => {
    expect(await drip('a', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')).toMatch(TOO_SLOW);
  });

  test('a request body sent byte by byte', async () => {
    expect(await drip('a', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')).toMatch(TOO_SLOW);
  });

  test('a connection without a request', async () => {
    const socket = connect(port, '127.0.0.1');
    const received: string[] = [];
    socket.on('data', (chunk) => received.push(String(chunk)));
    await new Promise((resolve) => socket.on('close', resolve));
    expect(received.join('')).toMatch(TOO_SLOW);
  });

  test('an idle keep-alive connection is closed after its response', async () => {
    const answer = await sendRaw(port, 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n', /never/);
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*\{"url":"\/one"\}$/s);
  });

  test('a client that requests a large response and does not read it', async () => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'));
    const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    await new Promise((resolve) => server.once('connection', resolve));
    // A client that does not read does not notice the end of the connection, so the connections of the server are counted.
    while ((await open()) > 0) await sleep(50);
    socket.destroy();
  });

  test.each([
    ['no HTTP', 'rubbish\r\n\r\n', 400, 'the request must be valid HTTP/1.1'],
    ['an unknown version', 'GET / HTTP/1.7\r\nHost: x\r\n\r\n', 400, 'the request must be valid HTTP/1.1'],
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
    ['invalid chunks', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400, 'the request must be valid HTTP/1.1'],
    ['line feeds alone', 'GET / HTTP/1.1\nHost: x\n\n', 400, 'the request must be valid HTTP/1.1'],
    ['a header with a NUL', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n', 400, 'the request must be valid HTTP/1.1'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, 'Host is required'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n', 400, 'Host must be given once'],
    ['the same host twice', 'GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n', 400, 'Host must be given once'],
    ['an invalid URL', 'GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'the request target must be a path or a URL'],
    ['a URL of another kind', 'GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'the request target must be a path or a URL'],
    ['a large head', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`, 431, 'the request line and the headers must be at most 16 KB'],
    ['an unknown expectation', 'POST / HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nContent-Length: 0\r\n\r\n', 417, 'Expect must be 100-continue'],
  ])('%s', async (_what, bytes, status, error) => {
    const answer = await sendRaw(port, Buffer.from(bytes, 'latin1'), /\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n.*X-Content-Type-Options: nosniff\r\n/s);
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(JSON.stringify({ error }));
  });

  test('an absolute URL as the request target is treated as its path', async () => {
    const answer = await sendRaw(port, 'GET http://elsewhere.example/here?a=b HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(answer).toMatch(/\{"url":"\/here\?a=b"\}$/);
  });

  test('an error is not written into a response that has begun', async () => {
    const answer = await sendRaw(port, 'GET /one HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n', /never/);
    expect(answer.match(/HTTP\/1\.1 \d+/g)?.[0]).toMatch(/HTTP\/1\.1 (?:200|400)/);
    for (const part of answer.split(/(?=HTTP\/1\.1 )/)) {
      const length = Number(/Content-Length: (\d+)/i.exec(part)?.[1]);
      expect(part.slice(part.indexOf('\r\n\r\n') + 4)).toHaveLength(length);
    }
  });
});
