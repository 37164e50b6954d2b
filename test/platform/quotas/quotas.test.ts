import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepClips } from '#areas/clips/sweep.ts';
import { storageGauges } from '#platform/quotas/gauges.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { GAME, mp4, readRefusal, upload, uploadClip } from '#test/support/areas/clips.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';
import { storageChecks } from '#tools/audit/checks/storage.ts';

/** Quota of a wallet, and of all wallets together, bytes. */
const QUOTA = 10_485;
const TOTAL = 4 * 1_048_576;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({
    workers: false,
    env: { STORAGE_WALLET_MB: 'clips:0.01,records:0.01,states:0.01', STORAGE_TOTAL_MB: 'clips:4,records:4,states:4' },
  });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
});
afterAll(() => t.close());

const record = (who: SignedIn, text: string, game = 'star-raiders') => who.fetch(`/game/${game}/record`, { json: { text } });
const save = (who: SignedIn, length: number, game = 'star-raiders') =>
  who.fetch(`/game/${game}/state`, { method: 'PUT', json: 'x'.repeat(length - 2) });
const used = async (kind: string, wallet: string) =>
  (await sql<{ bytes: number }>(t.app, 'select bytes::float8 as bytes from storage_usage where kind = $1 and wallet = $2', [kind, wallet]))[0]
    ?.bytes ?? 0;
const statusesOf = async (answers: readonly Promise<Response>[]) => (await Promise.all(answers)).map(({ status }) => status);
/** Sets the storage that wallets of another shard use, as if they had stored content. */
const setTotal = (kind: string, bytes: number) =>
  sql(t.app, 'insert into storage_totals (kind, shard, bytes) values ($1, 99, $2) on conflict (kind, shard) do update set bytes = excluded.bytes', [
    kind,
    bytes,
  ]);

test('fifty records of a wallet that arrive at once never exceed its quota, also in two games', async () => {
  const who = await signIn(t);
  const size = 256 + '{"text": ""}'.length + 1_000;
  const games = ['star-raiders', 'gem-drop'];
  const statuses = await statusesOf(Array.from({ length: 50 }, (_, i) => record(who, 'x'.repeat(1_000), games[i % 2])));
  const accepted = statuses.filter((status) => status === 201).length;
  expect([accepted, new Set(statuses)]).toEqual([Math.floor(QUOTA / size), new Set([201, 409])]);
  expect(await used('records', who.wallet)).toBe(accepted * size);
  expect(await readRefusal(record(who, 'x'.repeat(1_000)))).toBe(
    `409 the records of a wallet may use at most ${QUOTA} bytes together: records are kept for ever; only the deletion of the account makes room`,
  );
  // Other wallets and other kinds are not affected.
  expect((await record(await signIn(t), 'x')).status).toBe(201);
  expect((await save(who, 100)).status).toBe(200);
});

test('an erased record keeps only the 256 bytes of its row in the quota', async () => {
  const who = await signIn(t);
  const { recordId } = (await (await record(who, 'x'.repeat(5_000))).json()) as { recordId: string };
  await sql(t.app, `select erase_game_record($1, 'ann', 'request 17')`, [recordId]);
  expect(await used('records', who.wallet)).toBe(256);
});

test('a larger state is refused at the quota, and a smaller state is accepted even above the quota', async () => {
  const who = await signIn(t);
  expect((await save(who, 10_000)).status).toBe(200);
  expect(await readRefusal(save(who, 1_000, 'gem-drop'))).toMatch(
    /^409 the states of a wallet may use at most 10485 bytes together: save a smaller state/,
  );
  expect(await used('states', who.wallet)).toBe(10_000);
  await sql(t.app, `update game_states set state = repeat('x', 20000) where wallet = $1`, [who.wallet]);
  expect((await save(who, 15_000)).status).toBe(200);
  expect(await used('states', who.wallet)).toBe(15_000);
  await sql(t.app, 'delete from game_states where wallet = $1', [who.wallet]);
  expect(await used('states', who.wallet)).toBe(0);
});

test('concurrent uploads of a wallet never exceed its quota, and the removal of a clip makes room', async () => {
  const who = await signIn(t);
  const file = () => ({ gameId: GAME, file: mp4(4_000) });
  expect((await statusesOf(Array.from({ length: 4 }, () => upload(who, file())))).sort()).toEqual([201, 201, 409, 409]);
  expect(await used('clips', who.wallet)).toBe(8_000);
  const [clip] = await sql<{ id: string }>(t.app, `select id::text from clips where wallet = $1 and state = 'ready'`, [who.wallet]);
  expect((await upload(who, file())).status).toBe(409);
  await fetch(`${t.url}/admin/clips/${clip?.id}`, { method: 'DELETE', headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  // The file uses storage until the sweep has deleted it.
  expect((await upload(who, file())).status).toBe(409);
  await sweepClips(t.app);
  expect(await used('clips', who.wallet)).toBe(4_000);
  await uploadClip(who, file());
});

test('at the total of a kind new content is refused with 503, and the gauge shows the share that is used', async () => {
  const who = await signIn(t);
  expect((await save(who, 50)).status).toBe(200);
  for (const kind of ['clips', 'records', 'states']) await setTotal(kind, TOTAL);
  for (const [kind, ask] of [
    ['records', () => record(who, 'x')],
    ['states', () => save(who, 100)],
    ['clips', () => upload(who, { gameId: GAME, file: mp4(1_000) })],
  ] as const) {
    const answer = await ask();
    expect([answer.headers.get('Retry-After'), await readRefusal(answer)]).toEqual(['3600', `503 the storage for ${kind} is full, try again later`]);
  }
  expect((await save(who, 50)).status).toBe(200);
  const samples = await storageGauges.read(t.app);
  expect(samples.filter(({ name }) => name === 'coinop_storage_used_ratio').every(({ value }) => value >= 1)).toBe(true);
  for (const kind of ['clips', 'records', 'states']) await setTotal(kind, 0);
  expect((await record(who, 'x')).status).toBe(201);
});

test('after all of this, the audit finds that the used storage is the size of the content', async () => {
  const { config, redis, chain, storage } = t.app;
  const scope = { days: 8, epochs: 3, rounds: 20, sample: 500, all: true };
  const audit = { config, redis, chain, storage, scope, recheck: { attempts: 1, intervalMs: 1 }, db: t.app.db };
  for (const check of storageChecks) expect([check.name, await check.run(audit)]).toEqual([check.name, { total: 0, listed: [] }]);
});
