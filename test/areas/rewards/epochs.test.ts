import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { z } from 'zod';
import { EpochView, ProofView } from '#areas/rewards/schemas.ts';
import { allocate } from '#lib/allocation.ts';
import { buildTree, leafHash, rootOf, verifyWithMerkletreejs } from '#lib/merkle.ts';
import { ADMIN_TOKEN, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  asAdmin,
  DAY,
  epochOf,
  insertClosedDay,
  leavesOf,
  randomWallet,
  setRules,
  startRewards,
  statusAndBody,
  trigger,
} from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startRewards();
  await setRules(t);
});
afterAll(() => t.close());

const refusal = async (path: string) => await statusAndBody(send(t, path));
const proofPath = (epoch: number, wallet: string) => `/api/rewards/epoch/${epoch}/proof/${wallet}`;

test('an epoch distributes the pool by points, and its leaf file contains all inputs and results', async () => {
  const random = randomGenerator(11);
  const given = Array.from({ length: 700 }, () => ({ wallet: randomWallet(), points: random.int(1, 900) }));
  await insertClosedDay(t.app, DAY, [...given, ...given.slice(0, 300)]);
  await setRules(t, { cap: '2500', dust: '700' });
  const response = await trigger(t, DAY);
  expect([response.status, response.headers.get('Location')]).toEqual([201, `/api/rewards/epoch/${DAY}`]);
  const epoch = EpochView.parse(await response.json());
  await setRules(t);

  const sums = given
    .map(({ wallet, points }, i) => ({ wallet, points: i < 300 ? 2 * points : points }))
    .sort((a, b) => (a.wallet < b.wallet ? -1 : 1));
  const rules = { pool: 1_000_000n, cap: 2_500n, dust: 700n };
  const { amounts, total } = allocate(
    rules,
    BigInt64Array.from(sums, ({ points }) => BigInt(points)),
    (place) => sums[place]?.wallet ?? '',
  );
  const all = sums.map((sum, i) => ({ ...sum, amount: String(amounts[i] ?? 0) }));
  const paid = all.filter(({ amount }) => amount !== '0').map((line, index) => ({ index, ...line }));
  const unpaid = all.filter(({ amount }) => amount === '0').map((line) => ({ index: null, ...line }));
  expect(unpaid.length).toBeGreaterThan(0);

  const { header, lines } = await leavesOf(t, DAY);
  expect(lines).toEqual([...paid, ...unpaid]);
  const tree = buildTree(
    new Uint8Array(
      Buffer.concat(paid.map(({ index, wallet, amount }) => leafHash({ epoch: DAY, index, wallet: bs58.decode(wallet), amount: BigInt(amount) }))),
    ),
  );
  const root = Buffer.from(rootOf(tree)).toString('hex');
  const points = sums.reduce((sum, own) => sum + own.points, 0);
  const base = { epoch: DAY, source: 'computed', formulaVersion: 1, pool: '1000000', cap: '2500', dust: '700', points, root };
  const figures = { allocation: 1, wallets: 700, leaves: paid.length, total: String(total), undistributed: String(1_000_000n - total) };
  expect(header).toEqual({ ...base, ...figures });
  expect(epoch).toMatchObject({
    ...base,
    ...figures,
    status: 'computed',
    date: '2025-05-09',
    expiryDays: 90,
    expiresAt: null,
    commitSignature: null,
  });
  expect(await epochOf(t, DAY)).toEqual(epoch);
});

test('merkletreejs accepts the proof of each leaf, and a wallet without a leaf has no proof', async () => {
  const { header, lines } = await leavesOf(t, DAY);
  const root = Buffer.from(String(header.root), 'hex');
  for (const { index, wallet, amount } of lines.filter((line) => line.index !== null && line.index % 23 === 0)) {
    const proof = await jsonOf(send(t, proofPath(DAY, wallet)), ProofView);
    expect(proof).toMatchObject({ epoch: DAY, wallet, index, amount, root: header.root });
    const leaf = leafHash({ epoch: DAY, index: proof.index, wallet: bs58.decode(wallet), amount: BigInt(amount) });
    const siblings = proof.proof.map((node) => Buffer.from(node, 'hex'));
    expect(verifyWithMerkletreejs(root, leaf, siblings)).toBe(true);
  }
  const unpaid = lines.find((line) => line.index === null)?.wallet ?? '';
  for (const wallet of [unpaid, randomWallet()]) {
    expect(await refusal(proofPath(DAY, wallet))).toEqual([404, { error: `epoch ${DAY} has no reward for this wallet` }]);
  }
});

test('proofs and leaf files are revalidated while the allocation can change, and a request with a matching ETag gets 304', async () => {
  const { lines } = await leavesOf(t, DAY);
  for (const path of [proofPath(DAY, lines[0]?.wallet ?? ''), `/api/rewards/epoch/${DAY}/leaves`]) {
    const first = await send(t, path);
    expect([first.status, first.headers.get('Cache-Control')]).toEqual([200, 'no-cache']);
    await first.arrayBuffer();
    const again = await send(t, path, { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  }
  const head = await send(t, `/api/rewards/epoch/${DAY}/leaves`, { method: 'HEAD' });
  expect([head.status, head.headers.get('Content-Type'), await head.text()]).toEqual([200, 'application/x-ndjson', '']);
});

test('an epoch has Cache-Control no-cache until it is settled, and immutable afterwards', async () => {
  const path = `/api/rewards/epoch/${DAY}`;
  const first = await send(t, path);
  expect(first.headers.get('Cache-Control')).toBe('no-cache');
  expect((await send(t, path, { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } })).status).toBe(304);
  await sql(t.app, `update epochs set state = 'settled', settled_at = app_now() where epoch = $1`, [DAY]);
  const settled = await send(t, path, { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } });
  expect([settled.status, settled.headers.get('Cache-Control')]).toEqual([200, 'public, max-age=31536000, immutable']);
});

test('only regular points that earn rewards count, and a wallet whose points were revoked gets nothing', async () => {
  const [a = '', b = '', revoked = '', other = ''] = Array.from({ length: 4 }, randomWallet);
  await insertClosedDay(t.app, DAY + 1, [
    { wallet: a, points: 100 },
    { wallet: a, points: 50, kind: 'quest' },
    { wallet: a, points: 50, kind: 'referral' },
    { wallet: b, points: 300 },
    { wallet: b, points: -100 },
    { wallet: revoked, points: 70 },
    { wallet: revoked, points: -70 },
    { wallet: other, points: 900, mode: 'beta' },
    { wallet: other, points: 900, rewards: false },
    { wallet: other, points: 900, kind: 'conversion' },
  ]);
  expect((await trigger(t, DAY + 1)).status).toBe(201);
  const { header, lines } = await leavesOf(t, DAY + 1);
  expect(header).toMatchObject({ points: 400, wallets: 2, leaves: 2, total: '1000000', undistributed: '0' });
  expect(lines.map(({ wallet, points, amount }) => [wallet, points, amount]).sort()).toEqual(
    [
      [a, 200, '500000'],
      [b, 200, '500000'],
    ].sort(),
  );
});

test('a day without points that earn rewards becomes an empty epoch', async () => {
  await insertClosedDay(t.app, DAY + 2, [{ wallet: randomWallet(), points: 5, rewards: false }]);
  expect((await trigger(t, DAY + 2)).status).toBe(201);
  expect(await epochOf(t, DAY + 2)).toMatchObject({ status: 'empty', root: null, leaves: 0, wallets: 0, total: '0', undistributed: '1000000' });
  expect(await leavesOf(t, DAY + 2)).toMatchObject({ header: { root: null, wallets: 0 }, lines: [] });
  expect((await send(t, proofPath(DAY + 2, randomWallet()))).status).toBe(404);
});

test('a day on which all amounts are below dust becomes an empty epoch, and its leaf file lists the points', async () => {
  await setRules(t, { pool: '10', dust: '6' });
  const wallets = [randomWallet(), randomWallet()].sort();
  await insertClosedDay(
    t.app,
    DAY + 3,
    wallets.map((wallet) => ({ wallet, points: 1 })),
  );
  await trigger(t, DAY + 3);
  await setRules(t);
  expect(await epochOf(t, DAY + 3)).toMatchObject({ status: 'empty', root: null, wallets: 2, leaves: 0, points: 2, undistributed: '10' });
  expect((await leavesOf(t, DAY + 3)).lines).toEqual(wallets.map((wallet) => ({ index: null, wallet, points: 1, amount: '0' })));
});

test('a computed epoch emits epoch_computed with its result', async () => {
  const rows = await sql<{ payload: unknown }>(t.app, `select payload from outbox where type = 'epoch_computed' order by id`);
  const [epoch, , empty] = rows.map(({ payload }) => payload);
  const { root, leaves, total, undistributed } = await epochOf(t, DAY);
  expect(epoch).toEqual({ epoch: DAY, allocation: 1, status: 'computed', leaves, total, undistributed, root });
  expect(empty).toMatchObject({ epoch: DAY + 2, status: 'empty', root: null, total: '0' });
});

test('epochs are listed in the order of their numbers, in pages', async () => {
  const list = async (query: string) => {
    const response = await send(t, `/api/rewards/epochs${query}`);
    return {
      total: response.headers.get('X-Total-Count'),
      epochs: z
        .array(EpochView)
        .parse(await response.json())
        .map(({ epoch }) => epoch),
    };
  };
  expect(await list('')).toEqual({ total: '4', epochs: [DAY, DAY + 1, DAY + 2, DAY + 3] });
  expect(await list('?limit=2&offset=1')).toEqual({ total: '4', epochs: [DAY + 1, DAY + 2] });
  expect(await list('?order=desc&limit=1')).toEqual({ total: '4', epochs: [DAY + 3] });
  expect(await list('?offset=9')).toEqual({ total: '4', epochs: [] });
});

test('the list of committed epochs includes expired epochs and excludes settled epochs', async () => {
  await sql(t.app, `update epochs set state = 'committed', committed_at = app_now(), expires_at = app_now() + interval '1 day' where epoch = $1`, [
    DAY + 1,
  ]);
  const listed = async () => (await jsonOf(send(t, '/api/rewards/epochs/committed'), z.array(EpochView))).map(({ epoch, status }) => [epoch, status]);
  expect(await listed()).toEqual([[DAY + 1, 'committed']]);
  await sql(t.app, `update epochs set expires_at = app_now() - interval '1 s' where epoch = $1`, [DAY + 1]);
  expect(await listed()).toEqual([[DAY + 1, 'expired']]);
  await sql(t.app, `update epochs set state = 'settled', settled_at = app_now() where epoch = $1`, [DAY + 1]);
  expect(await listed()).toEqual([]);
});

test('an unknown epoch, a malformed epoch and a malformed wallet return 404', async () => {
  const error = 'epoch 12345 does not exist';
  for (const path of ['', '/leaves', `/proof/${randomWallet()}`]) expect(await refusal(`/api/rewards/epoch/12345${path}`)).toEqual([404, { error }]);
  const malformed = 'no such resource: epoch must be a number of UTC days since 1970-01-01';
  for (const epoch of ['x', '-1', '1.5', '01', '1e3', '99999999999']) {
    for (const path of ['', '/leaves', `/proof/${randomWallet()}`]) {
      expect(await refusal(`/api/rewards/epoch/${epoch}${path}`)).toEqual([404, { error: malformed }]);
    }
  }
  expect(await refusal(proofPath(DAY, 'nobody'))).toEqual([404, { error: 'no such resource: wallet must be a wallet address (base58 of 32 bytes)' }]);
  expect((await refusal('/api/rewards/epochs?limit=501'))[0]).toBe(400);
  expect(await refusal('/api/rewards/epochs?order=up')).toEqual([400, { error: 'order must be one of asc, desc' }]);
});

test('an epoch that is being computed has no proofs and no leaf file', async () => {
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values (1, 'computed', 5, 0, 90, 0, 1)`);
  const error = 'epoch 1 is still being computed';
  expect(await refusal(proofPath(1, randomWallet()))).toEqual([404, { error }]);
  expect(await refusal('/api/rewards/epoch/1/leaves')).toEqual([404, { error }]);
  expect(await epochOf(t, 1)).toMatchObject({ status: 'computing', root: null, total: null, leaves: null, wallets: null });
});

test('the database refuses to change or delete stored leaves and trees', async () => {
  for (const table of ['reward_leaves', 'reward_trees']) {
    for (const statement of [`update ${table} set epoch = 0`, `delete from ${table}`, `truncate ${table}`]) {
      await expect(sql(t.app, statement)).rejects.toThrow(`table ${table} is append-only`);
    }
  }
});

test('a trigger and a change of the rules need an admin token with the scope money', async () => {
  for (const path of ['/rewards/trigger-epoch', '/admin/config/rewards']) {
    const method = path.startsWith('/admin') ? 'PUT' : 'POST';
    expect((await send(t, path, { method, json: {} })).status).toBe(403);
  }
  expect((await asAdmin(t, '/rewards/trigger-epoch', { json: {}, headers: { Authorization: `Bearer ${ADMIN_TOKEN}x` } })).status).toBe(403);
});
