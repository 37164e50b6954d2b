import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MAX_RECORDS } from '#areas/arcade/saves/records.ts';
import { RecordReceipt } from '#areas/arcade/schemas.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let player: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  player = await signIn(t);
});
afterAll(() => t.close());

const GAME = 'star-raiders';
const PATH = `/game/${GAME}/record`;
const ZEROS = '0'.repeat(64);
const post = (who: SignedIn, json: unknown, headers: Record<string, string> = {}) => who.fetch(PATH, { json, headers });
const append = (who: SignedIn, json: unknown) => jsonOf(post(who, json), RecordReceipt);

const sha = (previousHex: string, canonical: string) => createHash('sha256').update(Buffer.from(previousHex, 'hex')).update(canonical).digest('hex');

test('each record’s hash covers the previous hash and the record’s canonical JSON', async () => {
  const who = await signIn(t);
  const response = await post(who, { score: 5, at: { b: 1, a: [1.0, 'é'] } });
  expect(response.status).toBe(201);
  const first = await jsonOf(response, RecordReceipt);
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

test('concurrent appends form one chain without gaps', async () => {
  const who = await signIn(t);
  const receipts = await Promise.all(Array.from({ length: 25 }, (_, i) => append(who, { i })));
  receipts.sort((a, b) => a.sequence - b.sequence);
  expect(receipts.map((r) => r.sequence)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
  expect(receipts.map((r) => r.previousHash)).toEqual([ZEROS, ...receipts.slice(0, -1).map((r) => r.hash)]);
});

test('two concurrent requests with the same idempotency key append one record', async () => {
  const who = await signIn(t);
  const key = { 'Idempotency-Key': 'once' };
  const answers = await Promise.all([post(who, { a: 1 }, key), post(who, { a: 1 }, key)]);
  const receipts = await Promise.all(answers.map((answer) => answer.json()));
  expect(receipts[0]).toEqual(receipts[1]);
  expect((await post(who, { a: 2 }, key)).status).toBe(409);
  expect((await append(who, {})).sequence).toBe(2);
});

test('the stored chain can be verified from the table alone', async () => {
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

test('the database refuses update, delete and truncate of records', async () => {
  await append(player, { kept: true });
  const attempts = [
    statement('test_update_record', `update game_records set record = '{}'`),
    statement('test_delete_record', 'delete from game_records'),
    statement('test_truncate_record', 'truncate game_records'),
  ];
  for (const attempt of attempts) await expect(t.app.tx((tx) => tx.query(attempt))).rejects.toThrow('append-only');
});

const HOUR_MS = 3_600_000;
const moveOn = (ms: number) => t.clock.set(new Date(t.clock.now().getTime() + ms));

test('the limit of records per minute is exact, and the 429 has a Retry-After', async () => {
  const who = await signIn(t);
  const answers = await Promise.all(Array.from({ length: MAX_RECORDS.minute + 20 }, (_, i) => post(who, { i }, { 'Idempotency-Key': String(i) })));
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused.map(({ status }) => status)).toEqual(Array(20).fill(429));
  expect(await refused[0]?.json()).toEqual({
    error: 'a wallet can append at most 60 records per minute and 1000 per day in a game, try again later',
  });
  const retryAfter = Number(refused[0]?.headers.get('Retry-After'));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(60);
  // A repeated request gets its stored response; a refused request stored nothing; other games and wallets have their own limits.
  const accepted = answers.findIndex(({ status }) => status === 201);
  expect((await post(who, { i: accepted }, { 'Idempotency-Key': String(accepted) })).status).toBe(201);
  expect((await who.fetch('/game/block-cascade/record', { json: {} })).status).toBe(201);
  expect((await post(await signIn(t), {})).status).toBe(201);
  await moveOn(61_000);
  expect((await append(who, {})).sequence).toBe(MAX_RECORDS.minute + 1);
});

test('the limit of records per day is exact', async () => {
  const who = await signIn(t);
  const { wallet } = who;
  const fill = statement(
    'test_fill_records',
    `insert into game_records (wallet, game_id, sequence, id, record, previous_hash, hash, at)
     select $1, $2, n, gen_random_uuid(), '{}', sha256(''), sha256(''), app_now() - interval '23 hours' from generate_series(1, ${MAX_RECORDS.day - 1}) n`,
  );
  await t.app.tx((tx) => tx.query(fill, [wallet, GAME]));
  expect((await append(who, {})).sequence).toBe(MAX_RECORDS.day);
  const refused = await post(who, {});
  expect(refused.status).toBe(429);
  const retryAfter = Number(refused.headers.get('Retry-After'));
  expect(retryAfter).toBeGreaterThan(3_000);
  expect(retryAfter).toBeLessThanOrEqual(3_600);
  await moveOn(HOUR_MS);
  expect((await append(who, {})).sequence).toBe(MAX_RECORDS.day + 1);
});

test('a record must be a JSON object', async () => {
  for (const body of [[1], 'text', 1, null]) {
    const response = await post(player, body);
    expect([response.status, await response.json()]).toEqual([400, { error: 'the body must be an object' }]);
  }
  const infinite = await player.fetch(PATH, { method: 'POST', body: '{"x":[1e999]}', headers: { 'Content-Type': 'application/json' } });
  expect(infinite.status).toBe(400);
  expect((await post(player, { x: 'x'.repeat(256 * 1024) })).status).toBe(413);
});

test('records require a session and an existing game', async () => {
  expect((await send(t, PATH, { json: {} })).status).toBe(401);
  expect((await player.fetch('/game/nowhere/record', { json: {} })).status).toBe(404);
  expect((await post(player, {}, { Origin: 'https://evil.test' })).status).toBe(403);
});
