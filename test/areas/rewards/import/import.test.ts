import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { EpochView, ProofView } from '#areas/rewards/schemas.ts';
import { buildTree, leafHash, rootOf, verifyWithMerkletreejs } from '#lib/merkle.ts';
import { ADMIN_TOKEN, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  DAY,
  INTERNAL_TOKEN,
  insertClosedDay,
  leavesOf,
  randomWallet,
  setRules,
  startRewards,
  statusAndBody,
  trigger,
} from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startRewards();
  await setRules(t, { pool: '1000000000' });
});
afterAll(() => t.close());

const PATH = '/api/rewards/epoch/import';
const authorized = { Authorization: `Bearer ${INTERNAL_TOKEN}` };
interface Row {
  wallet: string;
  amount: string;
}
const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, i) => ({ wallet: randomWallet(), amount: String(i + 1) }));
const asJson = (json: unknown) => send(t, PATH, { json, headers: authorized });
const ndjson = (header: object, rows: readonly unknown[]) => `${[header, ...rows].map((line) => JSON.stringify(line)).join('\n')}\n`;
const upload = (body: string | Buffer, headers: Record<string, string> = {}) =>
  send(t, PATH, { method: 'POST', body, headers: { ...authorized, 'Content-Type': 'application/x-ndjson', ...headers } });
const gzipped = (text: string | Buffer) => upload(gzipSync(text), { 'Content-Encoding': 'gzip' });
const rootOfRows = (epoch: number, rows: readonly Row[]) => {
  const leaves = rows.map(({ wallet, amount }, index) => leafHash({ epoch, index, wallet: bs58.decode(wallet), amount: BigInt(amount) }));
  return Buffer.from(rootOf(buildTree(new Uint8Array(Buffer.concat(leaves))))).toString('hex');
};
const refused = async (response: Promise<Response>): Promise<[number, string]> => {
  const [status, body] = await statusAndBody(response);
  return [status, (body as { error: string }).error];
};
/** Counts the rows of epochs, imports and import pages. */
const countRows = async () =>
  (
    await sql<{ n: number }>(
      t.app,
      `select (select count(*) from epochs)::int + (select count(*) from reward_imports)::int + (select count(*) from reward_import_pages)::int as n`,
    )
  )[0]?.n;

let epoch = DAY;
const nextEpoch = () => ++epoch;

test('an import as JSON, NDJSON or gzip becomes an epoch whose leaves have the order of the rows', async () => {
  for (const way of ['json', 'plain', 'gzip'] as const) {
    const number = nextEpoch();
    const rows = rowsOf(300);
    const root = rootOfRows(number, rows);
    const header = { epoch: number, root: way === 'plain' ? root.toUpperCase() : root };
    const ways = {
      json: () => asJson({ ...header, distribution: rows }),
      plain: () => upload(ndjson(header, rows)),
      gzip: () => gzipped(ndjson(header, rows)),
    };
    const response = await ways[way]();
    expect([response.status, response.headers.get('Location')]).toEqual([201, `/api/rewards/epoch/${number}`]);
    const expected = { epoch: number, status: 'computed', source: 'import', root, leaves: 300, wallets: 300, points: null, total: '45150' };
    expect(EpochView.parse(await response.json())).toMatchObject({ ...expected, pool: '1000000000', undistributed: '999954850' });
    expect((await leavesOf(t, number)).lines).toEqual(rows.map(({ wallet, amount }, index) => ({ index, wallet, points: null, amount })));
    const proof = await jsonOf(send(t, `/api/rewards/epoch/${number}/proof/${rows[217]?.wallet}`), ProofView);
    const leaf = leafHash({ epoch: number, index: 217, wallet: bs58.decode(proof.wallet), amount: 218n });
    expect(
      verifyWithMerkletreejs(
        Buffer.from(root, 'hex'),
        leaf,
        proof.proof.map((node) => Buffer.from(node, 'hex')),
      ),
    ).toBe(true);
  }
});

test('a repeated import in any format changes nothing, and another distribution for the epoch is refused', async () => {
  const number = nextEpoch();
  const rows = rowsOf(20);
  const first = EpochView.parse(await (await asJson({ epoch: number, distribution: rows })).json());
  expect(await statusAndBody(asJson({ epoch: number, distribution: rows }))).toEqual([200, first]);
  expect(await statusAndBody(gzipped(ndjson({ epoch: number, root: first.root }, rows)))).toEqual([200, first]);
  const before = await countRows();
  const others = [rows.toReversed(), rows.slice(1), [...rows, ...rowsOf(1)], rows.map((row) => ({ ...row, amount: '5' }))];
  for (const distribution of others) {
    expect(await refused(asJson({ epoch: number, distribution }))).toEqual([409, `epoch ${number} was imported already, with another distribution`]);
  }
  const root = 'ab'.repeat(32);
  expect(await refused(asJson({ epoch: number, distribution: rows, root }))).toEqual([
    400,
    `root must be the root of the distribution, which is ${first.root}`,
  ]);
  expect(await countRows()).toBe(before);
});

test('six concurrent equal imports create one import', async () => {
  const number = nextEpoch();
  const rows = rowsOf(50);
  const all = await Promise.all(Array.from({ length: 6 }, () => asJson({ epoch: number, distribution: rows })));
  expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
  expect(await sql(t.app, 'select state from reward_imports where epoch = $1', [number])).toEqual([{ state: 'done' }]);
});

test('an import with another root is refused completely, and a later import with the right root succeeds', async () => {
  const number = nextEpoch();
  const rows = rowsOf(30);
  const right = rootOfRows(number, rows);
  expect(await refused(asJson({ epoch: number, distribution: rows, root: '00'.repeat(32) }))).toEqual([
    400,
    `root must be the root of the distribution, which is ${right}`,
  ]);
  expect((await send(t, `/api/rewards/epoch/${number}`)).status).toBe(404);
  expect(await sql(t.app, 'select page from reward_import_pages')).toEqual([]);
  expect((await asJson({ epoch: number, distribution: rows, root: right })).status).toBe(201);
});

test('a computed epoch cannot be imported, and an imported epoch cannot be computed', async () => {
  const computed = nextEpoch();
  await insertClosedDay(t.app, computed, [{ wallet: randomWallet(), points: 1 }]);
  await trigger(t, computed);
  expect(await refused(asJson({ epoch: computed, distribution: rowsOf(1) }))).toEqual([409, `epoch ${computed} was computed from points already`]);
  const imported = nextEpoch();
  await asJson({ epoch: imported, distribution: rowsOf(1) });
  await insertClosedDay(t.app, imported, [{ wallet: randomWallet(), points: 1 }]);
  expect(await refused(trigger(t, imported))).toEqual([409, `epoch ${imported} was imported, so it cannot be computed from points`]);
});

test('an import that is not built within the wait returns 202 with its location, and completes later', async () => {
  const rows = rowsOf(10);
  const number = nextEpoch();
  const queue = t.app.queues.all.get('epochs');
  await queue?.pause();
  const response = await send(t, PATH, { json: { epoch: number, distribution: rows }, headers: { ...authorized, Prefer: 'wait=0' } });
  await queue?.resume();
  expect([response.status, response.headers.get('Location')]).toEqual([202, `/api/rewards/epoch/${number}`]);
  expect(EpochView.parse(await response.json())).toMatchObject({ epoch: number, status: 'computing', source: 'import' });
  expect(await statusAndBody(asJson({ epoch: number, distribution: rows }))).toMatchObject([200, { status: 'computed', leaves: 10 }]);
});

test('an import with invalid rows is refused, names the first ten invalid rows and stores nothing', async () => {
  const number = nextEpoch();
  const before = await countRows();
  const good = rowsOf(3);
  const bad: [unknown, string][] = [
    [{ wallet: good[0]?.wallet, amount: '9' }, 'wallet must be unique, but line 2 has the same wallet'],
    [{ wallet: randomWallet(), amount: '0' }, 'amount must be more than 0 and at most 18446744073709551615'],
    [{ wallet: randomWallet(), amount: '18446744073709551616' }, 'amount must be more than 0 and at most 18446744073709551615'],
    [{ wallet: randomWallet(), amount: 5 }, 'amount must be a whole number of base units as text'],
    [{ wallet: randomWallet(), amount: '1.5' }, 'amount must be a whole number of base units as text'],
    [{ wallet: 'nobody', amount: '1' }, 'wallet must be a wallet address (base58 of 32 bytes)'],
    [{ amount: '1' }, 'wallet must be a wallet address (base58 of 32 bytes)'],
    [{ wallet: randomWallet(), amount: '1', note: 'x' }, 'note is not a known field'],
    [[1], 'must be an object with wallet and amount'],
    [null, 'must be an object with wallet and amount'],
    [{ wallet: randomWallet(), amount: '-1' }, 'amount must be a whole number of base units as text'],
    [{ wallet: randomWallet() }, 'amount must be a whole number of base units as text'],
  ];
  const rows = [...good, ...bad.map(([row]) => row)];
  const errors = (place: (i: number) => string) => bad.slice(0, 10).map(([, reason], i) => `${place(i)}: ${reason}`);
  expect(await refused(gzipped(ndjson({ epoch: number }, rows)))).toEqual([
    400,
    `distribution must be valid: ${errors((i) => `line ${i + 5}`).join('; ')}; and 2 more`,
  ]);
  const inJson = errors((i) => `distribution[${i + 3}]`).map((text) => text.replace('but line 2 has', 'but distribution[0] has'));
  expect(await refused(asJson({ epoch: number, distribution: rows }))).toEqual([400, `distribution must be valid: ${inJson.join('; ')}; and 2 more`]);
  expect(await countRows()).toBe(before);
});

test('a malformed NDJSON import is refused with the line and the reason', async () => {
  const before = await countRows();
  const row = JSON.stringify({ wallet: randomWallet(), amount: '1' });
  const header = JSON.stringify({ epoch: nextEpoch() });
  const cases: [string | Buffer, string][] = [
    ['', 'the first line of the body must be the header with the epoch'],
    [`${header}\n`, 'distribution must have at least one row'],
    [`${row}\n${row}\n`, 'distribution must be valid: line 1: epoch is required and must be a number'],
    [`{"epoch":"5"}\n${row}`, 'distribution must be valid: line 1: epoch must be a number'],
    [`{"epoch":5,"extra":1}\n${row}`, 'distribution must be valid: line 1: extra is not a known field'],
    [`{"epoch":5,"root":"xy"}\n${row}`, 'distribution must be valid: line 1: root must be 64 hexadecimal digits'],
    [`[]\n${row}`, 'distribution must be valid: line 1: the body must be an object'],
    [`${header}\n\n${row}`, 'distribution must be valid: line 2: must be JSON'],
    [`${header}\n${row}\n{"wallet":`, 'distribution must be valid: line 3: must be JSON'],
    [`${header}\n"${'x'.repeat(200_000)}"\n${row}`, 'distribution must be valid: line 2: must be at most 1024 characters long'],
    [Buffer.concat([Buffer.from(`${header}\n`), Buffer.from([0xff, 0xfe, 0x0a])]), 'distribution must be valid: line 2: must be JSON'],
  ];
  for (const [i, [body, error]] of cases.entries()) expect(await refused(i === 1 ? gzipped(body) : upload(body))).toEqual([400, error]);
  expect(await countRows()).toBe(before);
});

test('an import that exceeds the pool or whose day has not ended is refused', async () => {
  const wallet = randomWallet();
  const give = (amounts: string[], number: number) =>
    asJson({ epoch: number, distribution: amounts.map((amount) => ({ wallet: randomWallet(), amount })) });
  expect(await refused(give(['1000000000', '1'], nextEpoch()))).toEqual([
    400,
    'the total of the distribution must be at most the pool: it is 1000000001, the pool is 1000000000; only an admin token with the scope money can confirm it',
  ]);
  expect((await give(['999999999', '1'], nextEpoch())).status).toBe(201);
  const today = Math.floor(t.clock.now().getTime() / 86_400_000);
  for (const number of [today, today + 5]) {
    expect(await refused(asJson({ epoch: number, distribution: [{ wallet, amount: '1' }] }))).toEqual([400, 'epoch must be a day that has ended']);
  }
  expect((await asJson({ epoch: -1, distribution: [{ wallet, amount: '1' }] })).status).toBe(400);
  expect(await refused(asJson({ epoch: DAY, distribution: [] }))).toEqual([400, 'distribution must be at least 1 item long']);
});

test('the reader stops after a thousand invalid rows', async () => {
  const answer = await refused(gzipped(`{"epoch":${nextEpoch()}}${'\n'.repeat(2_000_000)}`));
  expect(answer[0]).toBe(400);
  expect(answer[1]).toMatch(/^distribution must be valid: line 2: must be JSON; .*line 11: must be JSON; and many more$/);
});

test('a body of more than 256 MB after decompression is refused', async () => {
  const swollen = Buffer.concat(new Array(300).fill(gzipSync(Buffer.alloc(1024 * 1024, 'x'))));
  expect(swollen.length).toBeLessThan(1024 * 1024);
  expect(await refused(upload(swollen, { 'Content-Encoding': 'gzip' }))).toEqual([
    413,
    'the body must be at most 268435456 bytes after decompression',
  ]);
});

test('an import with another Content-Type or Content-Encoding, or with incomplete gzip data, is refused', async () => {
  const body = ndjson({ epoch: nextEpoch() }, rowsOf(1));
  expect(await refused(upload(body, { 'Content-Type': 'text/plain' }))).toEqual([
    415,
    'Content-Type must be application/json or application/x-ndjson',
  ]);
  expect(await refused(upload(body, { 'Content-Encoding': 'br' }))).toEqual([415, 'Content-Encoding must be gzip or identity']);
  expect(await refused(upload(body, { 'Content-Encoding': 'gzip' }))).toEqual([400, 'the body must be valid, complete gzip data']);
  expect(await refused(upload(gzipSync(body).subarray(0, -6), { 'Content-Encoding': 'gzip' }))).toEqual([
    400,
    'the body must be valid, complete gzip data',
  ]);
});

test.each(['identity', 'gzip'])('an upload (%s) whose connection is cut stores nothing, and the next upload succeeds', async (encoding) => {
  const before = await countRows();
  const number = nextEpoch();
  const text = ndjson({ epoch: number }, rowsOf(5_000));
  const body = encoding === 'gzip' ? gzipSync(text) : Buffer.from(text);
  await new Promise<void>((resolve) => {
    const { hostname, port } = new URL(t.url);
    const headers = {
      ...authorized,
      ...{ 'Content-Type': 'application/x-ndjson', 'Content-Encoding': encoding, 'Content-Length': String(body.length) },
    };
    const cut = request({ hostname, port, path: PATH, method: 'POST', headers });
    cut.on('error', () => resolve());
    cut.write(body.subarray(0, body.length / 2), () => cut.destroy());
  });
  const deadline = performance.now() + PATIENCE * 5_000;
  let response = await gzipped(text);
  while (response.status === 503 && performance.now() < deadline) response = await gzipped(text);
  expect(response.status).toBe(201);
  expect(await countRows()).toBe((before ?? 0) + 2);
});

test('a second concurrent upload gets 503 with Retry-After', async () => {
  const { hostname, port } = new URL(t.url);
  const headers = { ...authorized, 'Content-Type': 'application/x-ndjson', 'Transfer-Encoding': 'chunked' };
  const text = ndjson({ epoch: nextEpoch() }, rowsOf(2));
  const audited = async () => (await sql<{ n: number }>(t.app, 'select count(*)::int as n from admin_audit'))[0]?.n ?? 0;
  const before = await audited();
  const slow = request({ hostname, port, path: PATH, method: 'POST', headers, agent: false });
  const done = new Promise<number | undefined>((resolve) => slow.on('response', (response) => resolve(response.resume().statusCode)));
  slow.write(text.slice(0, 50));
  while ((await audited()) === before) await new Promise((resolve) => setTimeout(resolve, 10));
  const second = await upload(text);
  expect([second.status, second.headers.get('Retry-After'), await second.json()]).toEqual([
    503,
    '5',
    { error: 'this server is reading another import, try again' },
  ]);
  slow.end(text.slice(50));
  expect(await done).toBe(201);
});

test('an import needs an internal token or an admin token with the scope money', async () => {
  const json = { epoch: nextEpoch(), distribution: rowsOf(1) };
  for (const headers of [{}, { Authorization: 'Bearer wrong-token-0123456789' }]) expect((await send(t, PATH, { json, headers })).status).toBe(403);
  expect((await send(t, PATH, { json, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } })).status).toBe(201);
  expect((await send(t, '/rewards/trigger-epoch', { json: {}, headers: authorized })).status).toBe(403);
});
