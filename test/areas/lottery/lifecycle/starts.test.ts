import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { lockTreasury } from '#areas/lottery';
import { getActive, getRound, postRound } from '#areas/lottery/routes/rounds.ts';
import { NO_ENTRY_RULES, parametersHash, RoundParameters } from '#lib/draw/parameters.ts';
import { newId } from '#lib/ids.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createRound, EASY, endActive, LONG_SEC, startRound } from '#test/support/areas/draws.ts';
import { asAdmin, startRoundsTest } from '#test/support/areas/rounds.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t?.close());
// Only one chat round can be active at a time, so each test starts without one.
beforeEach(() => endActive(t));

const UNKNOWN_ROUND = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';

const refusal = async (path: string, init: Parameters<typeof send>[2]): Promise<[number, string]> => {
  const response = await send(t, path, { method: 'POST', ...init });
  return [response.status, ((await response.json()) as { error: string }).error];
};
const startRefusal = (id: string) => refusal(`/chat/round/${id}/start`, { headers: asAdmin });

test('a created round is pending, and the public endpoint returns the same body', async () => {
  const { body } = await adminOf(t).ok(postRound, { body: { ...EASY, title: '  Tonight ' } });
  expect(body).toMatchObject({
    ...{ status: 'pending', title: 'Tonight', picks: 1, range: 1, durationSec: 1, maxEntriesPerWallet: 1, prizes: EASY.prizes, entries: 0 },
    ...{ opensAt: null, closesAt: null, entriesRoot: null, commitment: null, voidReason: null, parameters: null, announcement: null, endedAt: null },
  });
  expect((await clientOf(t).ok(getRound, { params: { id: body.id } })).body).toEqual(body);
  expect((await clientOf(t).ok(getActive, {})).body).toBeNull();
});

test('picks, range and entries per wallet have defaults', async () => {
  const { picks: _picks, range: _range, ...rest } = EASY;
  expect((await adminOf(t).ok(postRound, { body: rest })).body).toMatchObject({ picks: 5, range: 50, maxEntriesPerWallet: 1 });
});

test('a repeated request with the same Idempotency-Key creates no second round', async () => {
  const headers = { ...asAdmin, 'Idempotency-Key': newId() };
  const [first, again] = [await send(t, '/chat/round', { json: EASY, headers }), await send(t, '/chat/round', { json: EASY, headers })];
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(await again.json()).toEqual(await first.json());
  expect((await send(t, '/chat/round', { json: { ...EASY, title: 'another' }, headers })).status).toBe(409);
});

test('invalid terms are refused with 400, and requests without an admin token with 403', async () => {
  const wrong = [
    { ...EASY, title: '' },
    { ...EASY, picks: 2, range: 1 },
    { ...EASY, range: 256 },
    { ...EASY, prizes: [] },
    { ...EASY, prizes: [{ amount: '0', mint: 'usdc' }] },
    { ...EASY, prizes: [{ amount: '1', mint: 'sol' }] },
    { ...EASY, durationSec: 0 },
    { ...EASY, durationSec: 3_000_000 },
    { ...EASY, more: 1 },
  ];
  for (const json of wrong) expect((await refusal('/chat/round', { json, headers: asAdmin }))[0]).toBe(400);
  expect((await refusal('/chat/round', { json: EASY }))[0]).toBe(403);
  expect((await refusal(`/chat/round/${UNKNOWN_ROUND}/start`, {}))[0]).toBe(403);
});

test('a start freezes the parameters and opens the round', async () => {
  const round = await startRound(t, { durationSec: LONG_SEC });
  expect(round).toMatchObject({ status: 'active', voidReason: null });
  expect(Date.parse(round.closesAt ?? '') - Date.parse(round.opensAt ?? '')).toBe(1_000 * LONG_SEC);
  expect((await clientOf(t).ok(getActive, {})).body).toEqual(round);
  const [row] = await sql<{ parameters: unknown; hash: string }>(t.app, 'select parameters, parameters_hash as hash from rounds where id = $1', [
    round.id,
  ]);
  const parameters = RoundParameters.parse(row?.parameters);
  const { rewardMint, usdcMint } = t.chain.keys;
  expect(parameters).toEqual({
    ...{ version: 2, kind: 'chat', round: round.id, picks: 1, range: 1, maxEntriesPerWallet: 1, entryRules: NO_ENTRY_RULES },
    prizes: [
      { place: 1, amount: '3000000', mint: rewardMint.publicKey.toBase58() },
      { place: 2, amount: '2000000', mint: usdcMint.publicKey.toBase58() },
    ],
    ...{ opensAt: round.opensAt, closesAt: round.closesAt, leadSec: 3, commitWithinSec: 120, drawWithinSec: 300, payWithinSec: 86_400 },
    ...{ draws: t.chain.env.DRAWS_ADDRESS, treasury: t.chain.env.TREASURY_ADDRESS, genesisHash: await t.chain.connection.getGenesisHash() },
  });
  expect(row?.hash).toBe(parametersHash(parameters));
  expect(round).toMatchObject({ parameters, parametersHash: row?.hash, runningHash: row?.hash, closed: null });
  await expect(sql(t.app, `update rounds set closes_at = closes_at + interval '1 hour' where id = $1`, [round.id])).rejects.toThrow(
    'its parameters never change',
  );
});

test('a start is refused when the round is unknown or not pending, or another round is active', async () => {
  expect(await startRefusal(UNKNOWN_ROUND)).toEqual([404, 'there is no chat round with this id']);
  expect((await startRefusal('no-uuid'))[0]).toBe(404);
  expect((await send(t, `/chat/round/${UNKNOWN_ROUND}`)).status).toBe(404);
  const { id } = await startRound(t, { durationSec: LONG_SEC });
  expect(await startRefusal(id)).toEqual([409, 'the round is active; only a pending round can be started']);
  const other = await createRound(t);
  expect(await startRefusal(other.id)).toEqual([409, `round ${id} is active; only one chat round can be active at a time`]);
});

test('when four rounds are started concurrently, only one becomes active', async () => {
  const rounds = await Promise.all(Array.from({ length: 4 }, () => createRound(t, { durationSec: LONG_SEC })));
  const answers = await Promise.all(rounds.map(({ id }) => send(t, `/chat/round/${id}/start`, { method: 'POST', headers: asAdmin })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  expect(await sql(t.app, `select id from rounds where kind = 'chat' and state = 'active'`)).toHaveLength(1);
});

test('the start of a round waits for a transaction that reserves tokens of the treasury, so that both do not reserve the same tokens', async () => {
  const round = await createRound(t, { durationSec: LONG_SEC, prizes: [{ amount: '1', mint: 'usdc' }] });
  const commit = await holdTransaction(t.app, (tx) => lockTreasury(tx));
  const started = send(t, `/chat/round/${round.id}/start`, { method: 'POST', headers: asAdmin });
  await untilBlocked(t.app, started).finally(commit);
  expect((await started).status).toBe(200);
});
