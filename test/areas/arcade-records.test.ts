import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RecordReceipt } from '../../src/areas/arcade/schema.ts';
import { statement } from '../../src/db/sql.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { bodyOf } from '../support/json.ts';
import { type SignedIn, send, signIn } from '../support/wallet.ts';

let t: TestApp;
let player: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  player = await signIn(t);
});
afterAll(() => t.close());

const PATH = '/game/star-raiders/record';
const ZEROS = '0'.repeat(64);
const post = (who: SignedIn, json: unknown, headers: Record<string, string> = {}) => who.fetch(PATH, { json, headers });
const append = (who: SignedIn, json: unknown) => bodyOf(post(who, json), RecordReceipt);

const sha = (previousHex: string, canonical: string) => createHash('sha256').update(Buffer.from(previousHex, 'hex')).update(canonical).digest('hex');

test('records are chained: each hash covers the one before and the record’s canonical JSON', async () => {
  const who = await signIn(t);
  const response = await post(who, { score: 5, at: { b: 1, a: [1.0, 'é'] } });
  expect(response.status).toBe(201);
  const first = await bodyOf(response, RecordReceipt);
  expect(first).toEqual({
    recordId: expect.any(String),
    sequence: 1,
    previousHash: ZEROS,
    hash: sha(ZEROS, '{"at":{"a":[1,"é"],"b":1},"score":5}'),
    recordedAt: expect.stringMatching(/Z$/),
  });
  const second = await append(who, {});
  expect(second).toMatchObject({ sequence: 2, previousHash: first.hash, hash: sha(first.hash, '{}') });
  const elsewhere = await (await who.fetch('/game/block-cascade/record', { json: {} })).json();
  expect(elsewhere).toMatchObject({ sequence: 1, previousHash: ZEROS });
});

test('concurrent appends make one chain without gaps', async () => {
  const who = await signIn(t);
  const receipts = await Promise.all(Array.from({ length: 25 }, (_, i) => append(who, { i })));
  receipts.sort((a, b) => a.sequence - b.sequence);
  expect(receipts.map((r) => r.sequence)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
  expect(receipts.map((r) => r.previousHash)).toEqual([ZEROS, ...receipts.slice(0, -1).map((r) => r.hash)]);
});

test('the same idempotency key twice at once appends one record', async () => {
  const who = await signIn(t);
  const key = { 'Idempotency-Key': 'once' };
  const answers = await Promise.all([post(who, { a: 1 }, key), post(who, { a: 1 }, key)]);
  const receipts = await Promise.all(answers.map((answer) => answer.json()));
  expect(receipts[0]).toEqual(receipts[1]);
  expect((await post(who, { a: 2 }, key)).status).toBe(409);
  expect((await append(who, {})).sequence).toBe(2);
});

test('what is stored can be verified from the table alone', async () => {
  const who = await signIn(t);
  await append(who, { b: 1e21, a: '😀', n: -0.5 });
  const rows = await t.app.db.query(
    statement<{ record: unknown; hash: string; previous: string }>(
      'test_records',
      `select record, encode(hash, 'hex') as hash, encode(previous_hash, 'hex') as previous from game_records where wallet = $1`,
    ),
    [who.wallet],
  );
  expect(rows).toEqual([{ record: { b: 1e21, a: '😀', n: -0.5 }, previous: ZEROS, hash: sha(ZEROS, '{"a":"😀","b":1e+21,"n":-0.5}') }]);
});

test('the database refuses to change, remove or empty records', async () => {
  await append(player, { kept: true });
  const attempts = [
    statement('test_update_record', `update game_records set record = '{}'`),
    statement('test_delete_record', 'delete from game_records'),
    statement('test_truncate_record', 'truncate game_records'),
  ];
  for (const attempt of attempts) await expect(t.app.tx((tx) => tx.query(attempt))).rejects.toThrow('append-only');
});

test('only objects are records', async () => {
  for (const body of [[1], 'text', 1, null]) {
    const response = await post(player, body);
    expect([response.status, await response.json()]).toEqual([400, { error: 'the body must be an object' }]);
  }
  const infinite = await player.fetch(PATH, { method: 'POST', body: '{"x":[1e999]}', headers: { 'Content-Type': 'application/json' } });
  expect(infinite.status).toBe(400);
  expect((await post(player, { x: 'x'.repeat(256 * 1024) })).status).toBe(413);
});

test('records need a session and a known game', async () => {
  expect((await send(t, PATH, { json: {} })).status).toBe(401);
  expect((await player.fetch('/game/nowhere/record', { json: {} })).status).toBe(404);
  expect((await post(player, {}, { Origin: 'https://evil.test' })).status).toBe(403);
});
