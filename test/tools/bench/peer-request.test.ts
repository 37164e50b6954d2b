import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { readPeerRequest } from '#tools/bench/peers/peer-request.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-peer-'));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test('a request to a peer has the headers of its file, the users in turn, a random score, and the length of its body', () => {
  const file = write('request.http', 'POST /boards/arcade HTTP/1.1\nAuthorization: Bearer {user}\n\n{"score": {score}, "by": "{user}"}\n');
  const next = readPeerRequest(file, write('users', 'anna\nžofie\n'), 'peer:7350');
  const sent = [next(), next(), next()].map(String);
  for (const [i, user] of ['anna', 'žofie', 'anna'].entries()) {
    const [head, body = ''] = (sent[i] ?? '').split('\r\n\r\n');
    expect(JSON.parse(body)).toEqual({ score: expect.any(Number), by: user });
    expect(head).toBe(
      `POST /boards/arcade HTTP/1.1\r\nHost: peer:7350\r\nAuthorization: Bearer ${user}\r\nContent-Length: ${Buffer.byteLength(body)}`,
    );
  }
  expect(new Set(sent).size).toBe(3);
});

test('a request without a body ends after its headers', () => {
  expect(String(readPeerRequest(write('get.http', 'GET /health\n'), undefined, 'peer')())).toBe('GET /health HTTP/1.1\r\nHost: peer\r\n\r\n');
});

test('a file without a method, and one that names users without a file of users, are refused', () => {
  expect(() => readPeerRequest(write('bad.http', '/boards/arcade'), undefined, 'peer')).toThrow('must begin with a line such as: POST');
  expect(() => readPeerRequest(write('user.http', 'POST /x\nA: {user}'), undefined, 'peer')).toThrow('PEER_USERS must name a file of users');
});
