import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import { formStream, reply, route } from '#platform/http/route.ts';
import { type Pace, readForm } from '#platform/http/uploads.ts';
import { answerOf, type Kit, sendRaw, startKit } from '#test/support/http/framework.ts';

const Fields = z.strictObject({ note: z.string().optional() });
const Taken = z.strictObject({ note: z.string().nullable(), bytes: z.int() });

/** What has become of the files that were begun, in their order. */
const ends: string[] = [];
/** How many were begun. */
let begun = 0;
/** A way to take files: whole, or not at all. */
let slowly = false;
const taking = (path: string, pace?: Pace) =>
  route({
    method: 'post',
    path,
    auth: 'public',
    summary: 'Takes a form',
    body: formStream(Fields.extend({ file: z.string() }), 1_000_000),
    returns: { 201: Taken },
    fails: [409],
    handler: async ({ ctx, body }) => {
      let bytes = 0;
      const receive = async (file: AsyncIterable<Buffer>) => {
        begun++;
        try {
          for await (const chunk of file) {
            if (chunk.includes('no thanks')) throw fail(409, 'file is not liked');
            bytes += chunk.length;
            if (slowly) await new Promise((resolve) => setTimeout(resolve, 20));
          }
          ends.push('whole');
        } catch (error) {
          ends.push('cut');
          throw error;
        }
      };
      const { note = null } = await readForm(ctx, body, { file: 'file', fields: Fields }, receive, pace);
      return reply(201, { note, bytes });
    },
  });

let kit: Kit;
beforeAll(async () => {
  kit = await startKit([taking('/forms'), taking('/brisk', { totalMs: 60_000, idleMs: 400 }), taking('/brief', { totalMs: 800, idleMs: 60_000 })], {
    env: { DATABASE_URL: 'postgresql://127.0.0.1:1/none' },
  });
});
afterAll(() => kit.close());

const part = (disposition: string, value: string, type = '') =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${type && `Content-Type: ${type}\r\n`}\r\n${value}\r\n`;
const FILE = part('name="file"; filename="a.mp4"', 'x'.repeat(1_000), 'video/mp4');
const NOTE = part('name="note"', 'né');
const END = '--b--\r\n';

async function sent(text: string, type = 'multipart/form-data; boundary=b') {
  return await answerOf(await fetch(`${kit.url}/forms`, { method: 'POST', headers: { 'Content-Type': type }, body: text }));
}
const taken = (note: string | null, bytes = 1_000) => ({ status: 201, body: { note, bytes } });
const refused = (error: string, status = 400) => ({ status, body: { error } });
/** A request as it goes over the wire, of which the end is missing. */
const cut = (text: string, path = '/forms') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${Buffer.byteLength(text) + 100}\r\n\r\n${text}`;

test.each([
  ['fields before the file', NOTE + FILE + END, taken('né')],
  ['fields after the file', FILE + NOTE + END, taken('né')],
  ['a file alone', FILE + END, taken(null)],
  ['an empty file', part('name="file"; filename="a"', '') + END, taken(null, 0)],
  ['bytes of no declared type', part('name="file"', 'abc', 'application/octet-stream') + END, taken(null, 3)],
  ['what surrounds the form', `preamble\r\n${FILE}${END}epilogue`, taken(null)],
  ['a file that looks like a boundary', part('name="file"; filename="a"', '\r\n--a\r\n--\r\n-b') + END, taken(null, 13)],
])('%s', async (_what, text, answer) => {
  expect(await sent(text)).toEqual(answer);
});

const COMPLETE = 'the body must be a complete form, as its Content-Type says';
test.each([
  ['nothing', '', COMPLETE],
  ['another boundary', FILE.replaceAll('--b', '--c'), COMPLETE],
  ['no end', FILE, COMPLETE],
  ['a file that does not end', FILE.slice(0, 500), COMPLETE],
  ['a header that does not end', '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n', COMPLETE],
  ['a header that is none', `--b\r\n\u0000nonsense\r\n\r\nx\r\n${END}`, COMPLETE],
  ['a file that begins after a header that is none, and does not end', `--b\r\n\u0000nonsense\r\n\r\nx\r\n${FILE.slice(0, 500)}`, COMPLETE],
  ['a form without a file', NOTE + END, 'file is required and must be a file'],
  ['a part without a name', part('filename="a"', 'x') + FILE + END, 'a field without a name is not a known file'],
  ['a field without a name', part('x="y"', 'x') + FILE + END, 'a field without a name is not a known field'],
  ['a name that goes on and on', part(`name="${'n'.repeat(500)}"; filename="a"`, 'x') + END, `${'n'.repeat(100)} is not a known file`],
  ['a field twice', NOTE + FILE + NOTE + END, 'note must come once'],
  ['two files', FILE + FILE + END, 'file must come once'],
  ['too many fields', Array.from({ length: 25 }, (_, i) => part(`name="n${i}"`, '1')).join('') + FILE + END, 'the form must not have so many fields'],
  ['__proto__', part('name="__proto__"', 'x') + FILE + END, '__proto__ is not a known field'],
])('%s is refused', async (_what, text, error) => {
  expect(await sent(text)).toEqual(refused(error));
});

test('a form says where its parts end, and is one', async () => {
  expect(await sent(FILE + END, 'multipart/form-data')).toEqual(refused('Content-Type must be multipart/form-data with a boundary'));
  expect(await sent('a=b', 'application/x-www-form-urlencoded')).toEqual(refused('Content-Type must be multipart/form-data', 415));
});

test('a file that is not liked ends the form, however much of it is still to come', async () => {
  const text = part('name="file"; filename="a"', `no thanks${'x'.repeat(900_000)}`) + END;
  expect(await sent(text)).toEqual(refused('file is not liked', 409));
  expect(ends.at(-1)).toBe('cut');
});

test('more than the route takes is 413, also where it is not announced', async () => {
  const text = part('name="file"; filename="a"', 'x'.repeat(1_000_000)) + END;
  const chunks = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(text));
      controller.close();
    },
  });
  const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
  const response = await fetch(`${kit.url}/forms`, { method: 'POST', headers, body: chunks, duplex: 'half' });
  expect(await answerOf(response)).toEqual(refused('the body must be at most 1000000 bytes', 413));
  expect(await sent(text)).toEqual(refused('the body must be at most 1000000 bytes', 413));
});

test('whoever sends nothing for a while is told to be quicker', async () => {
  expect(await sendRaw(kit.port, cut(NOTE + FILE.slice(0, 600), '/brisk'))).toMatch(
    /^HTTP\/1.1 400 .*the body must arrive within 60 s, without pauses of 0.4 s/s,
  );
  expect(ends.at(-1)).toBe('cut');
});

test('as is whoever takes too long in all', async () => {
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
  const response = await fetch(`${kit.url}/brief`, { method: 'POST', headers, body: drops, duplex: 'half' });
  ended = true;
  expect(await answerOf(response)).toEqual(refused('the body must arrive within 0.8 s, without pauses of 60 s'));
});

test('a sender who goes away in the middle leaves nobody waiting', async () => {
  const before = begun;
  const socket = connect(kit.port, '127.0.0.1');
  socket.on('error', () => undefined).write(cut(FILE.slice(0, 600)));
  while (begun === before) await new Promise((resolve) => setTimeout(resolve, 10));
  socket.destroy();
  while (ends.length < begun) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(ends.at(-1)).toBe('cut');
});

test('what comes faster than it is taken waits', async () => {
  slowly = true;
  const response = await sent(part('name="file"; filename="a"', 'x'.repeat(600_000)) + NOTE + END);
  slowly = false;
  expect(response).toEqual(taken('né', 600_000));
});
