import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { formStream, reply, route } from '#platform/http/route.ts';
import { readForm, type UploadTimeouts } from '#platform/http/uploads.ts';
import { readResponse, sendRaw, startTestServer, type TestServer } from '#test/support/http/framework.ts';

const Fields = z.strictObject({ note: z.string().optional() });
const Created = z.strictObject({ note: z.string().nullable(), bytes: z.int() });

/** Results of the received files in order: `whole` or `cut`. */
const ends: string[] = [];
/** Number of files whose receiver has started. */
let begun = 0;
/** Whether the receiver delays each chunk. */
let slowly = false;
const formRoute = (path: string, timeouts?: UploadTimeouts) =>
  route({
    method: 'post',
    path,
    auth: 'public',
    summary: 'Receives a form',
    body: formStream(Fields.extend({ file: z.string() }), 1_000_000),
    returns: { 201: Created },
    fails: [409],
    handler: async ({ ctx, body }) => {
      let bytes = 0;
      const receive = async (file: AsyncIterable<Buffer>) => {
        begun++;
        try {
          for await (const chunk of file) {
            if (chunk.includes('reject me')) throw fail(409, 'file is rejected');
            bytes += chunk.length;
            if (slowly) await new Promise((resolve) => setTimeout(resolve, 20));
          }
          ends.push('whole');
        } catch (error) {
          ends.push('cut');
          throw error;
        }
      };
      const { note = null } = await readForm(ctx, body, { file: 'file', fields: Fields }, receive, timeouts);
      return reply(201, { note, bytes });
    },
  });

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(
    [formRoute('/forms'), formRoute('/brisk', { totalMs: 60_000, idleMs: 400 }), formRoute('/brief', { totalMs: 800, idleMs: 60_000 })],
    {
      env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' },
    },
  );
});
afterAll(() => server.close());

const part = (disposition: string, value: string, type = '') =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${type && `Content-Type: ${type}\r\n`}\r\n${value}\r\n`;
const FILE = part('name="file"; filename="a.mp4"', 'x'.repeat(1_000), 'video/mp4');
const NOTE = part('name="note"', 'né');
const END = '--b--\r\n';

async function sent(text: string, type = 'multipart/form-data; boundary=b') {
  return await readResponse(await fetch(`${server.url}/forms`, { method: 'POST', headers: { 'Content-Type': type }, body: text }));
}
const created = (note: string | null, bytes = 1_000) => ({ status: 201, body: { note, bytes } });
const failure = (error: string, status = 400) => ({ status, body: { error } });
/** Returns the raw text of a request whose last 100 bytes are missing. */
const incomplete = (text: string, path = '/forms') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${Buffer.byteLength(text) + 100}\r\n\r\n${text}`;

test.each([
  ['fields before the file', NOTE + FILE + END, created('né')],
  ['fields after the file', FILE + NOTE + END, created('né')],
  ['a file alone', FILE + END, created(null)],
  ['an empty file', part('name="file"; filename="a"', '') + END, created(null, 0)],
  ['bytes with a generic content type', part('name="file"', 'abc', 'application/octet-stream') + END, created(null, 3)],
  ['text before and after the form', `preamble\r\n${FILE}${END}epilogue`, created(null)],
  ['a file that looks like a boundary', part('name="file"; filename="a"', '\r\n--a\r\n--\r\n-b') + END, created(null, 13)],
])('a form is accepted: %s', async (_case, text, answer) => {
  expect(await sent(text)).toEqual(answer);
});

const COMPLETE = 'the body must be a complete multipart form, because its Content-Type is multipart/form-data';
test.each([
  ['an empty body', '', COMPLETE],
  ['another boundary', FILE.replaceAll('--b', '--c'), COMPLETE],
  ['no final boundary', FILE, COMPLETE],
  ['an incomplete file', FILE.slice(0, 500), COMPLETE],
  ['an incomplete header', '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n', COMPLETE],
  ['an invalid header', `--b\r\n\u0000nonsense\r\n\r\nx\r\n${END}`, COMPLETE],
  ['an incomplete file after an invalid header', `--b\r\n\u0000nonsense\r\n\r\nx\r\n${FILE.slice(0, 500)}`, COMPLETE],
  ['a form without a file', NOTE + END, 'file is required and must be a file'],
  ['a part without a name', part('filename="a"', 'x') + FILE + END, 'a field without a name is not a known file'],
  ['a field without a name', part('x="y"', 'x') + FILE + END, 'a field without a name is not a known field'],
  ['a very long field name', part(`name="${'n'.repeat(500)}"; filename="a"`, 'x') + END, `${'n'.repeat(100)} is not a known file`],
  ['a repeated field', NOTE + FILE + NOTE + END, 'note must be sent once'],
  ['two files', FILE + FILE + END, 'file must be sent once'],
  ['too many fields', Array.from({ length: 25 }, (_, i) => part(`name="n${i}"`, '1')).join('') + FILE + END, 'the form must have at most 20 parts'],
  ['__proto__', part('name="__proto__"', 'x') + FILE + END, '__proto__ is not a known field'],
])('a form is rejected with 400: %s', async (_case, text, error) => {
  expect(await sent(text)).toEqual(failure(error));
});

test('the content type must be multipart/form-data with a boundary', async () => {
  expect(await sent(FILE + END, 'multipart/form-data')).toEqual(failure('Content-Type must be multipart/form-data with a boundary'));
  expect(await sent('a=b', 'application/x-www-form-urlencoded')).toEqual(failure('Content-Type must be multipart/form-data', 415));
});

test('an error of the receiver ends the form before the rest of the file arrives', async () => {
  const text = part('name="file"; filename="a"', `reject me${'x'.repeat(900_000)}`) + END;
  expect(await sent(text)).toEqual(failure('file is rejected', 409));
  expect(ends.at(-1)).toBe('cut');
});

test('a form above the limit of its route gets a 413, with and without Content-Length', async () => {
  const text = part('name="file"; filename="a"', 'x'.repeat(1_000_000)) + END;
  const chunks = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(text));
      controller.close();
    },
  });
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
  const response = await fetch(`${server.url}/forms`, { method: 'POST', headers, body: chunks, duplex: 'half' });
  expect(await readResponse(response)).toEqual(failure('the body must be at most 1000000 bytes', 413));
  expect(await sent(text)).toEqual(failure('the body must be at most 1000000 bytes', 413));
});

test('a form with a pause above the idle timeout gets a 400', async () => {
  expect(await sendRaw(server.port, incomplete(NOTE + FILE.slice(0, 600), '/brisk'))).toMatch(
    /^HTTP\/1.1 400 .*the body must arrive within 60 s, without pauses of 0.4 s/s,
  );
  expect(ends.at(-1)).toBe('cut');
});

test('a form that exceeds the total timeout gets a 400', async () => {
  let ended = false;
  const head = part('name="file"; filename="a"', '').slice(0, -2);
  const drops = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(head)),
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (ended) controller.close();
      else controller.enqueue(Buffer.from('x'));
    },
  });
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
  const response = await fetch(`${server.url}/brief`, { method: 'POST', headers, body: drops, duplex: 'half' });
  ended = true;
  expect(await readResponse(response)).toEqual(failure('the body must arrive within 0.8 s, without pauses of 60 s'));
});

test('a client that disconnects during the file ends its receiver', async () => {
  const before = begun;
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined).write(incomplete(FILE.slice(0, 600)));
  while (begun === before) await new Promise((resolve) => setTimeout(resolve, 10));
  socket.destroy();
  while (ends.length < begun) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(ends.at(-1)).toBe('cut');
});

test('a slow receiver gets the whole file', async () => {
  slowly = true;
  const response = await sent(part('name="file"; filename="a"', 'x'.repeat(600_000)) + NOTE + END);
  slowly = false;
  expect(response).toEqual(created('né', 600_000));
});
