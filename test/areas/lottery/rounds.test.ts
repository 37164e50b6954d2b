import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { acceptEntries, lockActiveRound } from '#areas/lottery/entries.ts';
import { getActive, getRound, postRound } from '#areas/lottery/routes/rounds.ts';
import { NO_ENTRY_RULES, parametersHash, RoundParameters } from '#lib/draw/parameters.ts';
import { newId } from '#lib/ids.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  addTickets,
  closeNow,
  createRound,
  EASY,
  endActive,
  enter,
  eventsOf,
  LONG_SEC,
  openLegacy,
  openRound,
  prizesOf,
  startRound,
  storedRound,
  verified,
} from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asAdmin, startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet, send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterAll(() => t?.close());
// Only one chat round can be active at a time, so each test starts without one.
beforeEach(() => endActive(t));

const UNKNOWN_ROUND = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';

/** Reads a wallet's finalized balance of a currency, base units. */
async function balanceOf(wallet: string, currency: string): Promise<bigint> {
  const { usdcMint, rewardMint } = t.chain.keys;
  const account = associatedTokenAddress(parseAddress(wallet), (currency === 'usdc' ? usdcMint : rewardMint).publicKey);
  return decodeTokenAccount(await t.chain.connection.getAccountInfo(account, 'finalized'))?.amount ?? 0n;
}

const refusal = async (path: string, init: Parameters<typeof send>[2]): Promise<[number, string]> => {
  const response = await send(t, path, { method: 'POST', ...init });
  return [response.status, ((await response.json()) as { error: string }).error];
};
const startRefusal = (id: string) => refusal(`/chat/round/${id}/start`, { headers: asAdmin });

test('a started round is closed, committed, drawn and paid without further requests', async () => {
  const { id } = await startRound(t);
  await enter(t, 5);
  await untilState(t, id, 'closing');
  await untilState(t, id, 'committed');
  const committed = (await clientOf(t).ok(getRound, { params: { id } })).body;
  expect(committed).toMatchObject({ status: 'committed', entries: 5, overdue: false, commitment: { slot: expect.any(Number) } });
  expect((await verified(t, id)).entries).toEqual({ count: 5, root: committed.entriesRoot, runningHash: committed.runningHash });
  await untilState(t, id, 'finalized');
  const audit = await verified(t, id);
  expect(audit.winners).toHaveLength(2);
  await retryUntilPass(async () => {
    for (const { place, wallet, prize } of audit.winners ?? []) {
      expect(await balanceOf(wallet, place === 1 ? 'reward' : 'usdc')).toBe(BigInt(prize.amount));
    }
  }, 30_000);
  expect(await prizesOf(t, id)).toMatchObject([
    { place: 1, currency: 'reward', amount: '3000000', wallet: audit.winners?.[0]?.wallet },
    { place: 2, currency: 'usdc', amount: '2000000', wallet: audit.winners?.[1]?.wallet },
  ]);
  expect(await eventsOf(t, id)).toEqual([
    'round_started',
    'round_closed',
    'round_committed',
    'round_finalized',
    'winner_announced',
    'winner_announced',
  ]);
});

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

test('a round without entries becomes void with the reason no-entries', async () => {
  const { id } = await startRound(t);
  await untilState(t, id, 'void');
  expect((await clientOf(t).ok(getRound, { params: { id } })).body).toMatchObject({ status: 'void', voidReason: 'no-entries' });
  expect((await verified(t, id)).void).toBe('no-entries');
  expect(await eventsOf(t, id)).toEqual(['round_started', 'round_void']);
});

test('every entry that was accepted before the freeze is in the round, and later entries are refused', async () => {
  const id = await openRound(t, 1);
  const one = () => {
    const entry = newId();
    return { id: entry, wallet: createWallet().address, numbers: null, source: 'chat', messageId: entry };
  };
  let accepted = 1;
  const entering = async () => {
    for (let i = 0; i < 10; i++) {
      const [answer] = await t.app.tx(async (tx) => await acceptEntries(t.app, tx, await lockActiveRound(tx), [one()]));
      if (answer && 'entry' in answer) accepted++;
      else return;
    }
  };
  await Promise.all([...Array.from({ length: 6 }, entering), closeNow(t, id)]);
  expect(await closeNow(t, id)).toBe(false);
  await expect(enter(t, 1)).rejects.toThrow('no round accepts entries now');
  await untilState(t, id, 'committed');
  expect((await verified(t, id)).entries.count).toBe(accepted);
  await expect(sql(t.app, 'update rounds set entries = entries + 1 where id = $1', [id])).rejects.toThrow('takes no entries');
});

test('a round with fewer winners than prizes pays only the prizes of its winners', async () => {
  const id = await openRound(t, 1);
  await closeNow(t, id);
  await untilState(t, id, 'finalized');
  expect((await verified(t, id)).winners).toHaveLength(1);
  expect(await prizesOf(t, id)).toMatchObject([{ place: 1, amount: '3000000' }]);
});

test('a round of 2,500 entries is evaluated in a worker thread and drawn correctly', async () => {
  const { id } = await startRound(t, { durationSec: LONG_SEC, picks: 5, range: 50 });
  const candidates = Array.from({ length: 2_500 }, () => {
    const entry = newId();
    return { id: entry, wallet: bs58.encode(randomBytes(32)), numbers: null, source: 'chat', messageId: entry };
  });
  await t.app.tx(async (tx) => await acceptEntries(t.app, tx, await lockActiveRound(tx), candidates));
  await closeNow(t, id);
  await untilState(t, id, 'finalized');
  const { winners } = await verified(t, id);
  expect(await sql(t.app, 'select place, index, wallet, matches from round_winners where round = $1 order by place', [id])).toEqual(
    winners?.map(({ place, index, wallet, matches }) => ({ place, index, wallet, matches })),
  );
});

/** Creates a legacy round with a number of tickets and closes it. */
async function closedLegacy(ticketPrice: string, tickets: number): Promise<string> {
  const id = await openLegacy(t, ticketPrice);
  await addTickets(t, id, tickets);
  await closeNow(t, id);
  return id;
}

test('a legacy round pays the sum of its ticket prices to one winner; a free round has a winner and no payment', async () => {
  const [paid, free] = [await closedLegacy('250', 3), await closedLegacy('0', 2)];
  await Promise.all([untilState(t, paid, 'finalized'), untilState(t, free, 'finalized')]);
  const [winner] = (await verified(t, paid)).winners ?? [];
  expect(await prizesOf(t, paid)).toMatchObject([{ place: 1, currency: 'usdc', amount: '750', wallet: winner?.wallet }]);
  expect((await verified(t, free)).winners).toMatchObject([{ place: 1, prize: { amount: '0' } }]);
  expect(await prizesOf(t, free)).toEqual([]);
  expect(await eventsOf(t, free)).toEqual(['round_closed', 'round_committed', 'round_finalized', 'winner_announced']);
  expect((await storedRound(t, free)).state).toBe('finalized');
});
