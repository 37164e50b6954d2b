import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MAX_RECORDS } from '#areas/arcade/saves/records.ts';
import { RecordReceipt } from '#areas/arcade/schemas.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { asOwner } from '#test/support/database.ts';
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

const sha256 = (...parts: (Uint8Array | string)[]) =>
  createHash('sha256')
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest();
/** Returns the hash that a record must have. Hashes and salt are hex. */
const hashOf = (previous: string, salt: string, canonical: string) =>
  sha256(Buffer.from(previous, 'hex'), sha256(Buffer.from(salt, 'hex'), canonical)).toString('hex');

test('each record’s hash covers the previous hash, a salt and the record’s canonical JSON', async () => {
  const who = await signIn(t);
  const response = await post(who, { score: 5, at: { b: 1, a: [1.0, 'é'] } });
  expect(response.status).toBe(201);
  const first = await jsonOf(response, RecordReceipt);
  expect(first).toEqual({
    recordId: expect.any(String),
    sequence: 1,
    previousHash: ZEROS,
    salt: expect.stringMatching(/^[0-9a-f]{64}$/),
    hash: hashOf(ZEROS, first.salt, '{"at":{"a":[1,"é"],"b":1},"score":5}'),
    recordedAt: expect.stringMatching(/Z$/),
  });
  const second = await append(who, {});
  expect(second).toMatchObject({ sequence: 2, previousHash: first.hash, hash: hashOf(first.hash, second.salt, '{}') });
  expect(second.salt).not.toBe(first.salt);
  const elsewhere = await (await who.fetch('/game/gem-drop/record', { json: {} })).json();
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

interface StoredRecord {
  id: string;
  salt: Buffer | null;
  record: unknown;
  content_hash: Buffer;
  previous_hash: Buffer;
  hash: Buffer;
}
const readChain = (wallet: string) =>
  t.app.db.query(
    statement<StoredRecord>(
      'test_records',
      'select id, salt, record, content_hash, previous_hash, hash from game_records where wallet = $1 order by sequence',
    ),
    [wallet],
  );

test('the stored chain can be verified from the table alone', async () => {
  const who = await signIn(t);
  await append(who, { b: 1e21, a: '😀', n: -0.5 });
  const [row] = await readChain(who.wallet);
  if (!row?.salt) throw new Error('the record is not stored');
  expect(row.record).toEqual({ b: 1e21, a: '😀', n: -0.5 });
  expect(row.content_hash).toEqual(sha256(row.salt, '{"a":"😀","b":1e+21,"n":-0.5}'));
  expect(row.hash).toEqual(sha256(Buffer.alloc(32), row.content_hash));
});

test('the database refuses update, delete and truncate of records', async () => {
  await append(player, { kept: true });
  const attempts = [
    statement('test_update_record', `update game_records set record = '{}'`),
    statement('test_delete_record', 'delete from game_records'),
    statement('test_empty_record', 'update game_records set salt = null, record = null'),
    statement('test_truncate_record', 'truncate game_records cascade'),
    statement('test_delete_erasures', 'delete from game_record_erasures'),
  ];
  for (const attempt of attempts) await expect(asOwner(t.app, (tx) => tx.query(attempt))).rejects.toThrow('append-only');
});

const erase = statement<{ erased: boolean }>('test_erase_record', 'select erase_game_record($1, $2, $3) as erased');
const eraseRecord = async (id: string, by: string, reason: string) => (await t.app.tx((tx) => tx.query(erase, [id, by, reason])))[0]?.erased;

test('an erased record loses its salt and content, and its chain can still be verified and continued', async () => {
  const who = await signIn(t);
  const receipts = [await append(who, { n: 1 }), await append(who, { email: 'a@b.test' }), await append(who, { n: 3 })];
  expect(await eraseRecord(receipts[1]?.recordId ?? '', 'ann', 'request 17')).toBe(true);
  receipts.push(await append(who, { n: 4 }));
  const rows = await readChain(who.wallet);
  expect(rows.map(({ salt, record }) => [salt !== null, record])).toEqual([
    [true, { n: 1 }],
    [false, null],
    [true, { n: 3 }],
    [true, { n: 4 }],
  ]);
  expect(rows.map(({ hash }) => hash.toString('hex'))).toEqual(receipts.map(({ hash }) => hash));
  let previous: Buffer = Buffer.alloc(32);
  for (const row of rows) {
    expect(row.previous_hash).toEqual(previous);
    expect(row.hash).toEqual(sha256(previous, row.content_hash));
    if (row.salt) expect(row.content_hash).toEqual(sha256(row.salt, JSON.stringify(row.record)));
    previous = row.hash;
  }
});

test('after an erasure, no value that is left in the database confirms a guess of the content', async () => {
  const who = await signIn(t);
  const { recordId, salt } = await append(who, { email: 'a@b.test' });
  const [stored] = await readChain(who.wallet);
  const guess = '{"email":"a@b.test"}';
  expect(stored?.content_hash).toEqual(sha256(Buffer.from(salt, 'hex'), guess));
  await eraseRecord(recordId, 'ann', 'request 17');
  const [left] = await readChain(who.wallet);
  expect(JSON.stringify(left)).not.toContain(JSON.stringify(Buffer.from(salt, 'hex')));
  const known = [left?.id ?? '', who.wallet, GAME, '', Buffer.alloc(32), left?.previous_hash ?? ''];
  for (const prefix of known) expect([left?.content_hash, left?.hash]).not.toContainEqual(sha256(prefix, guess));
});

const readErasures = (id: string) =>
  t.app.db.query(
    statement<{ erased_by: string; reason: string; isRecent: boolean }>(
      'test_erasures',
      `select erased_by, reason, at > app_now() - interval '1 minute' as "isRecent" from game_record_erasures where record_id = $1`,
    ),
    [id],
  );

test('an erasure is logged with its operator, reason and time, and a second erasure changes nothing', async () => {
  const who = await signIn(t);
  const { recordId } = await append(who, { n: 1 });
  await eraseRecord(recordId, 'ann', 'request 17');
  const before = await readChain(who.wallet);
  expect(await eraseRecord(recordId, 'bob', 'request 18')).toBe(false);
  expect(await readChain(who.wallet)).toEqual(before);
  expect(await readErasures(recordId)).toEqual([{ erased_by: 'ann', reason: 'request 17', isRecent: true }]);
});

test('a record is not erased without an operator, without a reason, or when it does not exist', async () => {
  const who = await signIn(t);
  const { recordId } = await append(who, { n: 1 });
  await expect(eraseRecord(recordId, '', 'request 17')).rejects.toThrow('erased_by');
  await expect(eraseRecord(recordId, 'ann', '')).rejects.toThrow('reason');
  const unknown = '00000000-0000-7000-8000-000000000000';
  await expect(eraseRecord(unknown, 'ann', 'request 17')).rejects.toThrow(`there is no game record with the id ${unknown}`);
  expect((await readChain(who.wallet)).map(({ record }) => record)).toEqual([{ n: 1 }]);
  expect(await readErasures(recordId)).toEqual([]);
});

test('a logged erasure allows no other change of the record, and no change of other records', async () => {
  const who = await signIn(t);
  const [first, second] = [await append(who, { n: 1 }), await append(who, { n: 2 })];
  await eraseRecord(first.recordId, 'ann', 'request 17');
  for (const [id, change] of [
    [first.recordId, `record = '{}', salt = sha256('')`],
    [first.recordId, `at = at + interval '1 second'`],
    [second.recordId, 'salt = null, record = null'],
  ]) {
    const update = statement(`test_change_${change?.length}`, `update game_records set ${change} where id = $1`);
    await expect(asOwner(t.app, (tx) => tx.query(update, [id]))).rejects.toThrow('append-only');
  }
});

test('only the owner of the database may call the function that erases records', async () => {
  const rights = statement<{ open: boolean }>(
    'test_erase_rights',
    `select has_function_privilege('public', 'erase_game_record(uuid, text, text)', 'execute') as open`,
  );
  expect(await t.app.db.query(rights)).toEqual([{ open: false }]);
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
  expect((await who.fetch('/game/gem-drop/record', { json: {} })).status).toBe(201);
  expect((await post(await signIn(t), {})).status).toBe(201);
  await moveOn(61_000);
  expect((await append(who, {})).sequence).toBe(MAX_RECORDS.minute + 1);
});

test('the limit of records per day is exact', async () => {
  const who = await signIn(t);
  const { wallet } = who;
  const fill = statement(
    'test_fill_records',
    `insert into game_records (wallet, game_id, sequence, id, salt, record, content_hash, previous_hash, hash, at)
     select $1, $2, n, gen_random_uuid(), sha256(''), '{}', sha256(''), sha256(''), sha256(''), app_now() - interval '23 hours' from generate_series(1, ${MAX_RECORDS.day - 1}) n`,
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
