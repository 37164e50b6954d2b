import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip, constants as zlib } from 'node:zlib';
import { SessionClient } from '#test/support/http/heartbeat.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';
import { Connection, headerOf } from './connection.ts';
import type { OwnTarget, Target } from './target.ts';

const MB = 1024 * 1024;
/** Maximum processor time that the API process may use during one request of another client while an attack runs, ms. */
const MAX_COMPUTE_MS = 4_000;

/**
 * Runs an attack while another client sends requests. Returns the maximum processor time of the API process during one request of that client, ms.
 * @throws Error when a request of that client does not get status 200
 */
export async function maxComputeDuring(target: OwnTarget, attack: () => Promise<void>): Promise<number> {
  let maxMs = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const before = target.cpuMs();
      const response = await fetch(`${target.url}/healthz`, { signal: AbortSignal.timeout(60_000) });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`/healthz returned ${response.status}`);
      maxMs = Math.max(maxMs, target.cpuMs() - before);
      await sleep(20);
    }
  })();
  try {
    await Promise.race([attack(), watching]);
  } finally {
    isOver = true;
    await watching;
  }
  return maxMs;
}

/**
 * Runs an attack and returns its faults. Three other events also count as faults: other clients wait too long, the memory of the API process grows
 * too much, or the process exits.
 * @param maxGrowth the maximum growth of the resident memory, bytes
 */
async function checkResilience(target: OwnTarget, maxGrowth: number, attack: () => Promise<string[]>): Promise<string[]> {
  const before = target.memory();
  let peak = before;
  const faults: string[] = [];
  const computeMs = await maxComputeDuring(target, async () => {
    const watch = setInterval(() => {
      peak = Math.max(peak, target.memory());
    }, 50);
    faults.push(...(await attack().finally(() => clearInterval(watch))));
  });
  if (computeMs > MAX_COMPUTE_MS) faults.push(`other clients waited while the process computed for ${computeMs} ms`);
  if (peak - before > maxGrowth) faults.push(`the process grew by ${Math.round((peak - before) / MB)} MB`);
  if (!target.api.isRunning) faults.push('the process exited');
  return faults;
}

const portOf = (target: Target) => Number(new URL(target.url).port);

/** Opens `n` connections and sends the same bytes on each of them. */
async function openMany(target: Target, n: number, bytes: string): Promise<Socket[]> {
  const open = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect(portOf(target), '127.0.0.1', () => {
        if (bytes !== '') socket.write(bytes);
        socket.on('error', () => undefined);
        resolve(socket);
      });
      socket.once('error', reject);
    });
  const sockets: Socket[] = [];
  while (sockets.length < n) sockets.push(...(await Promise.all(Array.from({ length: Math.min(200, n - sockets.length) }, open))));
  return sockets;
}

/**
 * Opens `n` connections of four kinds, a quarter each: they send nothing, never end the request head, never end the request body, or never read the
 * response. The service must still answer other clients.
 */
export async function silentConnections(target: OwnTarget, n: number): Promise<string[]> {
  const body = 'POST /auth/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"publicKey": "';
  return await checkResilience(target, 300 * MB, async () => {
    const kinds = ['', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ', body, 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'];
    const sockets = (await Promise.all(kinds.map((bytes) => openMany(target, n / kinds.length, bytes)))).flat();
    const { cookie } = await signIn(target);
    const me = await fetch(`${target.url}/me`, { headers: { Cookie: cookie } });
    await me.arrayBuffer();
    for (const socket of sockets) socket.destroy();
    return me.status === 200 ? [] : [`/me returned ${me.status} with ${n} silent connections`];
  });
}

/** Opens `n` event streams whose clients do not read. The service must still answer other clients. */
export async function manyStreams(target: OwnTarget, n: number): Promise<string[]> {
  return await checkResilience(target, 300 * MB, async () => {
    const sockets = await openMany(target, n, 'GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
    const { cookie } = await signIn(target);
    const sent = await send(target, '/chat/message', { json: { text: 'hello' }, headers: { Cookie: cookie } });
    await sent.arrayBuffer();
    for (const socket of sockets) socket.destroy();
    return sent.status === 201 ? [] : [`/chat/message returned ${sent.status} with ${n} unread streams`];
  });
}

/**
 * Returns a gzip stream that repeats one block.
 * @param times the number of repetitions
 * @param before the text before the first block
 */
function gzipStream(block: Buffer, times: number, before = ''): ReadableStream<Uint8Array> {
  const gzip = createGzip({ level: zlib.Z_BEST_SPEED, chunkSize: 256 * 1024 });
  const write = async () => {
    gzip.write(before);
    for (let i = 0; i < times && !gzip.destroyed; i++) if (!gzip.write(block)) await new Promise((resolve) => gzip.once('drain', resolve));
    gzip.end();
  };
  gzip.on('error', () => undefined);
  write().catch((error: Error) => gzip.destroy(error));
  return ReadableStream.from(gzip);
}

/**
 * Sends imports with small gzip bodies that decompress to many megabytes. The service must reject them.
 * @param megabytes the decompressed size of a body
 */
export async function bombs(target: OwnTarget, megabytes: number): Promise<string[]> {
  const header = '{"epoch":20000}\n';
  const row = Buffer.from(`{"wallet":"9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin","amount":"1"}\n`);
  const rows = Buffer.concat(Array.from({ length: Math.floor(MB / row.length) }, () => row));
  const shapes: readonly (readonly [string, ReadableStream<Uint8Array>])[] = [
    ['one line without an end', gzipStream(Buffer.alloc(MB, 'a'), megabytes, header)],
    ['empty lines', gzipStream(Buffer.alloc(MB, '\n'), megabytes, header)],
    ['the same row', gzipStream(rows, megabytes, header)],
    ['gzip of nothing', gzipStream(Buffer.alloc(0), 0)],
  ];
  return await checkResilience(target, 900 * MB, async () => {
    const faults: string[] = [];
    for (const [shape, body] of shapes) {
      const response = await fetch(`${target.url}/api/rewards/epoch/import`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${target.credentials.internal}`, 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'gzip' },
        body,
        duplex: 'half',
        signal: AbortSignal.timeout(120_000),
      }).catch((error: unknown) => String(error));
      // A closed connection is correct too, because the service may close the connection before the client has sent the whole body.
      if (typeof response === 'string') faults.push(...(/ECONNRESET|EPIPE|fetch failed|terminated/.test(response) ? [] : [`${shape}: ${response}`]));
      else if (![400, 413].includes(response.status)) faults.push(`${shape}: ${response.status} ${await response.text()}`);
    }
    return faults;
  });
}

/** WebSocket close code that a client reports when it did not read a close frame, for example because it was still sending. */
const ABNORMAL_CLOSURE = 1006;

/** Begins a play of a game that verifies scores by heartbeats. */
async function beginPlay(target: Target): Promise<{ player: SignedIn; playId: string }> {
  const player = await signIn(target);
  const play = await player.fetch('/game/star-raiders/play', { method: 'POST' });
  const { playId }: { playId: string } = JSON.parse(await play.text());
  return { player, playId };
}

/** Opens WebSockets that send too large, too many or invalid messages, then opens too many WebSockets of one play. The service must close them. */
export async function socketFloods(target: OwnTarget, n: number): Promise<string[]> {
  return await checkResilience(target, 200 * MB, async () => {
    const faults: string[] = [];
    const { player, playId } = await beginPlay(target);
    const credentials = { playId, cookie: player.cookie };
    const expectClose = async (what: string, codes: readonly number[], flood: (client: SessionClient) => void) => {
      const client = await SessionClient.open(target.url, credentials);
      flood(client);
      const closed = await Promise.race([client.closed, sleep(20_000, { code: 0, reason: 'still open' }, { ref: false })]);
      if (!codes.includes(closed.code)) faults.push(`${what}: ${closed.code} ${closed.reason}`);
      client.socket.terminate();
    };
    await expectClose('a frame of 16 MB', [1009, ABNORMAL_CLOSURE], (client) => client.send(Buffer.alloc(16 * MB)));
    await expectClose('a message in 100,000 fragments', [1009, ABNORMAL_CLOSURE], (client) => {
      for (let i = 0; i < 100_000; i++) client.socket.send('{', { fin: false });
    });
    await expectClose('many messages', [1008, ABNORMAL_CLOSURE], (client) => {
      for (let i = 0; i < n; i++) client.send();
    });
    await expectClose('many pings', [1008, ABNORMAL_CLOSURE], (client) => {
      for (let i = 0; i < n; i++) client.socket.ping();
    });
    await expectClose('a message that is not JSON', [1008], (client) => client.send('['.repeat(200)));
    await expectClose('a message of an unknown type', [1008], (client) => client.send({ type: 'admin' }));
    await expectClose('a binary message', [1008], (client) => client.send(Buffer.from('{"type":"heartbeat"}')));
    // All these connections belong to one play. The service must keep only the latest of them open.
    const clients = await Promise.all(
      Array.from({ length: Math.min(n, 200) }, () => SessionClient.open(target.url, credentials).catch((error: unknown) => String(error))),
    );
    await sleep(500);
    const open = clients.filter((client) => typeof client !== 'string' && client.socket.readyState === client.socket.OPEN);
    if (open.length !== 1) faults.push(`${open.length} connections of one play are open`);
    const refused = clients.filter((client) => typeof client === 'string' && !/429|503|hang up|ECONNRESET/.test(client));
    if (refused.length > 0) faults.push(`connections were refused: ${refused[0]}`);
    for (const client of clients) if (typeof client !== 'string') client.socket.terminate();
    return faults;
  });
}

/** Sends multipart forms that are expensive to parse. The service must reject each form. */
export async function forms(target: OwnTarget): Promise<string[]> {
  const { cookie } = await signIn(target);
  const connection = new Connection(portOf(target));
  const part = (name: string, value = 'x') => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const type = 'multipart/form-data; boundary=b';
  const shapes: readonly (readonly [what: string, type: string, body: string])[] = [
    ['50,000 parts', type, `${Array.from({ length: 50_000 }, (_, i) => part(`f${i}`)).join('')}--b--\r\n`],
    ['a field with a name of 1 MB', type, `${part('n'.repeat(MB))}--b--\r\n`],
    ['a field of 4 MB', type, `${part('gameId', 'v'.repeat(4 * MB))}--b--\r\n`],
    ['the same field 1,000 times', type, `${part('gameId').repeat(1_000)}--b--\r\n`],
    ['100,000 headers of a part', type, `--b\r\n${'X-A: b\r\n'.repeat(100_000)}\r\nx\r\n--b--\r\n`],
    ['a header of a part of 4 MB', type, `--b\r\nX-A: ${'h'.repeat(4 * MB)}\r\n\r\nx\r\n--b--\r\n`],
    ['prototype fields', type, `${part('__proto__')}${part('constructor')}--b--\r\n`],
    ['no boundary', 'multipart/form-data', part('gameId')],
    ['an empty boundary', 'multipart/form-data; boundary=', part('gameId')],
    ['a boundary of 8 KB', `multipart/form-data; boundary=${'b'.repeat(8_000)}`, part('gameId')],
    ['another boundary', 'multipart/form-data; boundary=c', part('gameId').repeat(10_000)],
    ['text that is almost the boundary', 'multipart/form-data; boundary=aaaaaaaaaaaaaaaaaaaab', `--${'a'.repeat(2 * MB)}`],
    [
      'a form in a form',
      type,
      `--b\r\nContent-Type: multipart/mixed; boundary=c\r\nContent-Disposition: form-data; name="file"\r\n\r\n${'--c\r\n'.repeat(10_000)}`,
    ],
    ['a file name of 1 MB', type, `--b\r\nContent-Disposition: form-data; name="file"; filename="${'../'.repeat(300_000)}"\r\n\r\nx\r\n--b--\r\n`],
  ];
  return await checkResilience(target, 200 * MB, async () => {
    const faults: string[] = [];
    for (const [what, contentType, body] of shapes) {
      const head = `POST /clip/upload HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n\r\n`;
      const outcome = await connection.send({ bytes: Buffer.from(head + body), methods: ['POST'], timeoutMs: 30_000 });
      const [answer] = outcome.responses;
      if (!answer || ![400, 413, 415].includes(answer.status)) faults.push(`${what}: ${answer?.status ?? outcome.end}`);
      if (answer && Object.keys(JSON.parse(answer.body.toString())).join() !== 'error') faults.push(`${what}: ${answer.body}`);
    }
    connection.close();
    return faults;
  });
}

/** Sends request heads that are too large. The service must return 431 and close the connection. */
export async function hugeHeads(target: Target): Promise<string[]> {
  const shapes: readonly (readonly [string, string])[] = [
    ['one header', `X-A: ${'a'.repeat(70_000)}\r\n`],
    ['many headers', 'X-A: b\r\n'.repeat(10_000)],
    ['a header without an end', 'a'.repeat(1_000_000)],
    ['a cookie', `Cookie: ${'a=b; '.repeat(10_000)}\r\n`],
  ];
  const faults: string[] = [];
  for (const [what, header] of shapes) {
    const connection = new Connection(portOf(target));
    const bytes = Buffer.from(`GET /healthz HTTP/1.1\r\nHost: x\r\n${header}\r\n`);
    const { responses, end } = await connection.send({ bytes, methods: ['GET'], timeoutMs: 30_000 });
    const [answer] = responses;
    connection.close();
    // A missing response is correct too, because the service may close the connection before the client has read the response.
    if (!answer && end === 'closed') continue;
    if (answer?.status !== 431 || headerOf(answer, 'connection') !== 'close') faults.push(`${what}: ${answer?.status ?? end}`);
  }
  return faults;
}
